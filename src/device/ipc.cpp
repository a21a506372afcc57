#include "device/ipc.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "device/passed.hpp"

namespace dunnage::device {

namespace {

/// Answers of the driver about allocations. An answer stays true until the allocation is freed, and
/// the driver never gives two allocations the same id.
class Exports {
 public:
  /// Asks the driver if the allocation is not known yet. Empty if the driver cannot export this
  /// kind of memory.
  std::optional<Exported> of(const Driver& driver, const Place& place, Exported exported) {
    const std::lock_guard lock(mutex_);
    for (const auto& known : known_)
      if (known.exported.id == exported.id && known.exported.begin == exported.begin &&
          known.exported.size == exported.size)
        return known.possible ? std::optional(known.exported) : std::nullopt;
    const Scope scope(driver, context_for(driver, place));
    const auto address = static_cast<CUdeviceptr>(exported.begin);
    unsigned capable = 0;
    CUpointer_attribute attribute[] = {CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    void* value[] = {&capable};
    CUipcMemHandle handle{};
    if (driver.cuPointerGetAttributes(1, attribute, value, address) != CUDA_SUCCESS) return std::nullopt;
    if (capable && driver.cuIpcGetMemHandle(&handle, address) != CUDA_SUCCESS) return std::nullopt;
    std::memcpy(exported.handle, &handle, sizeof handle);
    known_[next_++ % known_.size()] = {exported, capable != 0};
    return capable ? std::optional(exported) : std::nullopt;
  }

 private:
  struct Known {
    Exported exported;
    bool possible;
  };
  std::mutex mutex_;
  std::array<Known, 16> known_{};
  std::size_t next_ = 0;
};

Exports& exports() {
  static auto* all = new Exports;  // never destroyed, because destructors that run at exit may still call us
  return *all;
}

}  // namespace

std::optional<Exported> export_of(const Driver& driver, const Place& place, std::int32_t owner) {
  if (place.memory != Memory::device || place.id == 0 || !driver.cuIpcGetMemHandle) return std::nullopt;
  return exports().of(
      driver, place, {{}, place.begin, place.end - place.begin, place.id, place.device, owner, Exported::by_handle, 0});
}

Import::Import(const Driver& driver, const Exported& exported) : driver_(driver), exported_(exported) {
  check(driver, driver.cuCtxGetCurrent(&context_), "cuCtxGetCurrent");
  context_id_ = id_of(driver, context_);
  if (exported.way == Exported::own) {
    address_ = static_cast<CUdeviceptr>(exported.begin);
    return;
  }
  if (exported.way == Exported::by_descriptor) {
    const auto passed = all_passed().find(exported);
    if (!passed) throw Error(CUDA_ERROR_INVALID_HANDLE, "memory of another process that it has not passed to this one");
    address_ = passed->map(exported.size);
    return;
  }
  if (!driver.cuIpcOpenMemHandle) throw Error(CUDA_ERROR_NOT_SUPPORTED, "cuIpcOpenMemHandle: not in this driver");
  CUipcMemHandle handle;
  std::memcpy(&handle, exported.handle, sizeof handle);
  check(driver, driver.cuIpcOpenMemHandle(&address_, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "cuIpcOpenMemHandle");
}

Import::~Import() {
  if (exported_.way == Exported::own) return;
  // If the context has ended, the driver has already removed the mapping.
  if (id_of(driver_, context_) != context_id_ || driver_.cuCtxPushCurrent(context_) != CUDA_SUCCESS) return;
  if (exported_.way == Exported::by_descriptor)
    Passed::unmap(driver_, address_, exported_.size);
  else
    driver_.cuIpcCloseMemHandle(address_);
  CUcontext popped;
  driver_.cuCtxPopCurrent(&popped);
}

std::shared_ptr<const Import> Imports::open(const Driver& driver, const Exported& exported) {
  const std::lock_guard lock(mutex_);
  const auto same = [&](const auto& import) {
    return import->exported().owner == exported.owner && import->exported().begin < exported.begin + exported.size &&
           exported.begin < import->exported().begin + import->exported().size;
  };
  const auto known = std::find_if(imports_.begin(), imports_.end(), same);
  if (known != imports_.end() && (*known)->exported().id == exported.id &&
      (*known)->exported().begin == exported.begin) {
    imports_.splice(imports_.begin(), imports_, known);
    return imports_.front();
  }
  // The driver forbids opening a handle while an older allocation at the same addresses is still
  // mapped.
  imports_.remove_if(same);
  imports_.push_front(std::make_shared<const Import>(driver, exported));
  if (imports_.size() > most) imports_.pop_back();
  return imports_.front();
}

void Imports::forget(const Exported& exported) {
  const std::lock_guard lock(mutex_);
  imports_.remove_if([&](const auto& import) {
    const auto& known = import->exported();
    return known.owner == exported.owner && known.id == exported.id && known.begin == exported.begin;
  });
}

void Imports::clear() {
  const std::lock_guard lock(mutex_);
  imports_.clear();
}

}  // namespace dunnage::device
