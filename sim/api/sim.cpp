// The functions that only the simulated device has. Calls of them are not counted.
#include "sim/sim.h"

#include <mutex>
#include <vector>

#include "sim/driver.hpp"
#include "sim/space.hpp"

using namespace dunnage::sim;

void dunnageSimRegisterKernel(const char* name, void (*run)(const dunnageSimLaunch*), const size_t* sizes, int count) {
  if (!name || !run || count < 0 || (count > 0 && !sizes)) return;
  const std::lock_guard hold(driver().lock);
  driver().kernels[name] = {run, std::vector<std::size_t>(sizes, sizes + count)};
}

void* dunnageSimTranslate(const void* address) { return Space::translate(address); }

void dunnageSimFail(const char* function, int after, int code, int sticky) {
  if (!function) return;
  const std::lock_guard hold(driver().lock);
  driver().faults.add(function, after, code, sticky != 0);
}

void dunnageSimFailClear() {
  const std::lock_guard hold(driver().lock);
  driver().faults.clear();
}

unsigned long long dunnageSimCalls(const char* function) {
  const std::lock_guard hold(driver().lock);
  return driver().calls.of(function);
}
