// The kernel of higrad_triggered that sends, on the simulated device: threads of the host run it.
#include <dlfcn.h>

#include <algorithm>

#include "sim/device_code.hpp"

#define __global__
#include "examples/fortran/higrad/triggered/send.cuh"
#undef __global__

namespace {

void run_send(const dunnageSimLaunch* launch) {
  auto few = *launch;
  few.blockDim[0] = std::min(few.blockDim[0], 4U);  // a block shares the work among as many as it has
  const auto exchange = *static_cast<const DNG_Device*>(launch->params[0]);
  const auto variables = *static_cast<const int*>(launch->params[1]);
  dng_host::run_grid(few, [&] { higrad_send(exchange, variables); });
}

__attribute__((constructor)) void add_send() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return;
  const auto enter = reinterpret_cast<decltype(&dunnageSimRegisterKernel)>(dlsym(driver, "dunnageSimRegisterKernel"));
  dng_host::translate = reinterpret_cast<decltype(&dunnageSimTranslate)>(dlsym(driver, "dunnageSimTranslate"));
  if (!enter || !dng_host::translate) return;  // a real driver
  static const std::size_t sizes[] = {sizeof(DNG_Device), sizeof(int)};
  enter("higrad_send", run_send, sizes, 2);
}

}  // namespace
