#include "device/pins.hpp"

#include <map>
#include <mutex>

namespace dunnage::device {
namespace {

struct Pins {
  std::mutex mutex;
  std::map<void*, CUcontext> locked;  // null: it is not
  std::size_t size = 0;
};
/// Never destroyed: calls may come from destructors at exit.
Pins& pins() {
  static auto* all = new Pins;
  return *all;
}

}  // namespace

void pin(const Driver& driver, void* address, std::size_t size, std::size_t most) {
  auto& p = pins();
  const std::lock_guard lock(p.mutex);
  const auto [entry, fresh] = p.locked.try_emplace(address, nullptr);
  CUcontext current = nullptr;
  if (fresh && p.size + size <= most && driver.cuMemHostRegister && driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
      driver.cuMemHostRegister(address, size, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS)
    entry->second = current, p.size += size;
}

void unpin_all(const Driver& driver) {
  auto& p = pins();
  const std::lock_guard lock(p.mutex);
  for (const auto& [address, context] : p.locked) {
    CUcontext popped;
    if (!context || driver.cuCtxPushCurrent(context) != CUDA_SUCCESS) continue;
    driver.cuMemHostUnregister(address);
    driver.cuCtxPopCurrent(&popped);
  }
  p.locked.clear();
  p.size = 0;
}

}  // namespace dunnage::device
