#include "device/pins.hpp"

#include <map>
#include <mutex>

#include "device/place.hpp"

namespace dunnage::device {
namespace {

struct Pins {
  std::mutex mutex;
  struct Lock {
    CUcontext context = nullptr;  // null if the memory could not be locked
    unsigned long long id = 0;
  };
  std::map<void*, Lock> locked;
  std::size_t size = 0;
};
/// Never destroyed, because destructors that run at exit may still call us.
Pins& pins() {
  static auto* all = new Pins;
  return *all;
}

}  // namespace

void pin(const Driver& driver, void* address, std::size_t size, std::size_t most) {
  auto& p = pins();
  const std::lock_guard lock(p.mutex);
  const auto [entry, fresh] = p.locked.try_emplace(address);
  CUcontext current = nullptr;
  if (fresh && p.size + size <= most && driver.cuMemHostRegister && driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
      driver.cuMemHostRegister(address, size, CU_MEMHOSTREGISTER_PORTABLE) == CUDA_SUCCESS)
    entry->second = {current, id_of(driver, current)}, p.size += size;
}

void unpin_all(const Driver& driver) {
  auto& p = pins();
  const std::lock_guard lock(p.mutex);
  for (const auto& [address, page_lock] : p.locked) {
    CUcontext popped;
    // If a context has ended, the driver has already unlocked its memory.
    if (!page_lock.context || id_of(driver, page_lock.context) != page_lock.id ||
        driver.cuCtxPushCurrent(page_lock.context) != CUDA_SUCCESS)
      continue;
    driver.cuMemHostUnregister(address);
    driver.cuCtxPopCurrent(&popped);
  }
  p.locked.clear();
  p.size = 0;
}

}  // namespace dunnage::device
