#include "sim/driver.hpp"

#include <cstdlib>

#include <pthread.h>

#include "sim/call.hpp"

namespace dunnage::sim {

Driver& driver() {
  static Driver& only = []() -> Driver& {
    auto& made = *new Driver;
    if (const char* faults = std::getenv("DUNNAGE_SIM_FAIL")) made.faults.add_from(faults);
    return made;
  }();
  return only;
}

std::uintptr_t new_handle() {
  static std::atomic<std::uintptr_t> last{0};
  // Handles are not valid addresses on any machine, so that a program that dereferences a handle
  // crashes at once.
  return (std::uintptr_t{0x5d} << 56) + (last += 16);
}

namespace {

// In a forked child the lock is free, and every call is refused, because the child has no threads
// for the streams.
void survive_forks() {
  pthread_atfork([] { driver().lock.lock(); }, [] { driver().lock.unlock(); },
                 [] {
                   driver().forked = true;
                   driver().lock.unlock();
                 });
}

void initialise(Driver& d) {
  const auto settings = Settings::from_environment();
  require(settings.devices > 0, CUDA_ERROR_NO_DEVICE);
  d.space.reserve(settings.devices, settings.memory, settings.reachable);
  d.settings = settings;
  d.random.seed(static_cast<unsigned>(settings.seed));
  d.devices.resize(static_cast<std::size_t>(settings.devices));
  for (auto& device : d.devices) device.primary = reinterpret_cast<CUcontext>(new_handle());
  survive_forks();
  d.initialised = true;
}

}  // namespace
}  // namespace dunnage::sim

using namespace dunnage::sim;

CUresult cuInit(unsigned flags) {
  return call({"cuInit", Class::other, Needs::nothing}, [&](Call&) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    if (!driver().initialised) initialise(driver());
  });
}

CUresult cuDriverGetVersion(int* version) {
  return call({"cuDriverGetVersion", Class::other, Needs::nothing}, [&](Call&) { *given(version) = CUDA_VERSION; });
}
