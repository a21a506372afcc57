// What the simulated device counts.
#pragma once

#include <dlfcn.h>

/// How often this process has called a function of the driver, on the simulated device; else 0.
inline unsigned long long sim_calls(const char* function) {
  static auto* const calls =
      reinterpret_cast<unsigned long long (*)(const char*)>(dlsym(RTLD_DEFAULT, "dunnageSimCalls"));
  return calls ? calls(function) : 0;
}

/// How many kernels and copies this process has begun, on the simulated device; else 0.
inline unsigned long long sim_launches() { return sim_calls("cuLaunchKernel") + sim_calls("cuMemcpyAsync"); }
