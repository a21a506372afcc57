// What the probes of this folder have in common: checked calls of the CUDA runtime, and a clock.
#pragma once

#include <cuda_runtime.h>
#include <errno.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace probe {

using Clock = std::chrono::steady_clock;

/// Ends the program if a call has failed. `what`: the call.
inline void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, cudaGetErrorString(result));
  std::exit(1);
}
#define CHECK(call) probe::check(call, #call)

/// Microseconds.
inline double since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace probe
