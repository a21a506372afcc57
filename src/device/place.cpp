#include "device/place.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

#include "base/hash.hpp"

namespace dunnage::device {
namespace {

// The address range of all device memory that was seen so far. Host memory is rarely inside, so few
// addresses need the slow check below.
std::atomic<std::uintptr_t> seen_begin{~std::uintptr_t{0}}, seen_end{0};

void see(std::uintptr_t begin, std::uintptr_t end) {
  for (auto known = seen_begin.load(std::memory_order_relaxed);
       begin < known && !seen_begin.compare_exchange_weak(known, begin, std::memory_order_relaxed);) {
  }
  for (auto known = seen_end.load(std::memory_order_relaxed);
       end > known && !seen_end.compare_exchange_weak(known, end, std::memory_order_relaxed);) {
  }
}

/// Throws Error if an address inside that range is not readable: the program has then freed device
/// memory that it still uses. The kernel is asked, which takes a microsecond, because the host must
/// not read device memory to find out.
void check_not_freed(std::uintptr_t address) {
  if (address < seen_begin.load(std::memory_order_relaxed) || address >= seen_end.load(std::memory_order_relaxed))
    return;
  char byte;
  const iovec here{&byte, 1}, there{reinterpret_cast<void*>(address), 1};
  if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && errno == EFAULT)
    throw Error(
        CUDA_ERROR_INVALID_VALUE,
        fmt::format("{:#x} is neither host memory nor device memory; device memory that was freed, perhaps", address));
}

}  // namespace

namespace {

template <std::size_t N>
bool ask(const Driver& driver, std::uintptr_t at, CUpointer_attribute (&attributes)[N], void* (&values)[N]) {
  return driver.cuPointerGetAttributes(N, attributes, values, static_cast<CUdeviceptr>(at)) == CUDA_SUCCESS;
}

/// Asks the driver for everything about an address. Slow.
Place all_about(const Driver& driver, std::uintptr_t at) {
  Place place;
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  std::size_t size = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
                                      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                      CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void* values[] = {&type, &managed, &ordinal, &place.context, &start, &size, &place.id};
  place.address = at;
  if (!ask(driver, at, attributes, values) || type == 0) {
    place.context = nullptr;
    return place;
  }
  place.memory = managed ? Memory::managed : type == CU_MEMORYTYPE_HOST ? Memory::pinned : Memory::device;
  place.device = ordinal;
  if (place.memory == Memory::pinned) {  // on the device, registered memory may have another address
    CUdeviceptr there = 0;
    CUpointer_attribute attribute[] = {CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void* value[] = {&there};
    if (ask(driver, at, attribute, value) && there) place.address = static_cast<std::uintptr_t>(there);
  }
  place.begin = static_cast<std::uintptr_t>(start);
  place.end = place.begin + size;
  if (place.on_gpu()) see(place.begin, place.end);
  return place;
}

/// The last answers of all_about() in one thread. If an allocation still has the same id, the
/// answer is still true.
class Recent {
 public:
  Place at(const Driver& driver, unsigned long long id, std::uintptr_t address) {
    for (const auto& [place, asked] : known_) {
      if (id == 0 || place.id != id || address < place.begin || address >= place.end) continue;
      auto moved = place;
      moved.address += address - asked;
      return moved;
    }
    const auto place = all_about(driver, address);
    if (place.id) known_[next_++ % known_.size()] = {place, address};
    return place;
  }

 private:
  struct Known {
    Place place;
    std::uintptr_t asked = 0;
  };
  std::array<Known, 4> known_{};
  std::size_t next_ = 0;
};

}  // namespace

Place known_place(const Driver& driver, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  unsigned type = 0;
  unsigned long long id = 0;
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
  void* values[] = {&type, &id};
  if (!ask(driver, at, attributes, values) || type == 0) {
    Place place;
    place.address = at;
    return place;
  }
  thread_local Recent recent;
  return recent.at(driver, id, at);
}

Place place_of(const Driver& driver, const void* address) {
  const auto place = known_place(driver, address);
  if (place.memory == Memory::host) check_not_freed(place.address);
  return place;
}

Scope::Scope(const Driver& driver, CUcontext context) : driver_(driver) {
  CUcontext current = nullptr;
  check(driver, driver.cuCtxGetCurrent(&current), "cuCtxGetCurrent");
  if (current != context) {
    check(driver, driver.cuCtxPushCurrent(context), "cuCtxPushCurrent");
    pushed_ = true;
  }
  driver.cuThreadExchangeStreamCaptureMode(&mode_);
}

Scope::~Scope() {
  driver_.cuThreadExchangeStreamCaptureMode(&mode_);
  CUcontext popped;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

unsigned long long id_of(const Driver& driver, CUcontext context) {
  unsigned long long id = 0;
  if (driver.cuCtxGetId && driver.cuCtxGetId(context, &id) == CUDA_SUCCESS) return id;
  return reinterpret_cast<std::uintptr_t>(context);
}

std::uint64_t identity_of(const Driver& driver, int device) {
  CUuuid uuid{};
  if (device < 0 || !driver.cuDeviceGetUuid || driver.cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS) return 0;
  return base::hash({uuid.bytes, sizeof uuid.bytes});
}

bool uses_mps(const Driver& driver, int device) {
  int mps = 0;
  const auto attribute = CU_DEVICE_ATTRIBUTE_MPS_ENABLED;
  return driver.cuDeviceGetAttribute && driver.cuDeviceGetAttribute(&mps, attribute, device) == CUDA_SUCCESS &&
         mps == 1;
}

int multiprocessors(const Driver& driver, int device) {
  int number = 0;
  const auto attribute = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
  if (!driver.cuDeviceGetAttribute || driver.cuDeviceGetAttribute(&number, attribute, device) != CUDA_SUCCESS) return 0;
  return number;
}

CUcontext context_for(const Driver& driver, const Place& place) {
  if (place.context) return place.context;
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current && driver.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
      (place.device < 0 || device == place.device))
    return current;
  // A CUdevice is the ordinal. A primary context that is not active must stay so: the program has
  // not asked for one.
  unsigned flags = 0;
  int active = 0;
  CUcontext primary = nullptr;
  const auto ordinal = static_cast<CUdevice>(place.device < 0 ? 0 : place.device);
  if (driver.cuDevicePrimaryCtxGetState(ordinal, &flags, &active) != CUDA_SUCCESS || !active)
    throw Error(CUDA_ERROR_INVALID_CONTEXT, "no active CUDA context for the buffer's device");
  check(driver, driver.cuDevicePrimaryCtxRetain(&primary, ordinal), "cuDevicePrimaryCtxRetain");
  driver.cuDevicePrimaryCtxRelease(ordinal);  // the program's own reference keeps the context active
  return primary;
}

}  // namespace dunnage::device
