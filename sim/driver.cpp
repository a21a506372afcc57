#include "sim/driver.hpp"

#include <cstdlib>

#include <pthread.h>

#include "sim/error.hpp"

namespace dunnage::sim {

Driver& driver() {
  static Driver& only = []() -> Driver& {
    auto& made = *new Driver;
    if (const char* faults = std::getenv("DUNNAGE_SIM_FAIL")) made.faults.add_from(faults);
    return made;
  }();
  return only;
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

}  // namespace

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

}  // namespace dunnage::sim
