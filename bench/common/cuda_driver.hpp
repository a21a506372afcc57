// CUDA's driver API, looked up at run time: the same program runs with the driver, with a stand-in for it, and without.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace bench {

/// There is no GPU to measure on.
struct NoDevice : std::runtime_error {
  using runtime_error::runtime_error;
};

/// The functions of cuda.h that the benchmarks call.
#define BENCH_DRIVER_FUNCTIONS(X)                                                                                   \
  X(cuInit) X(cuGetErrorName) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName)           \
  X(cuDeviceGetAttribute) X(cuDeviceCanAccessPeer) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)         \
  X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxEnablePeerAccess) X(cuStreamCreate) X(cuStreamDestroy)              \
  X(cuStreamSynchronize) X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo) X(cuMemHostRegister) X(cuMemHostUnregister)     \
  X(cuMemsetD8) X(cuMemcpyDtoH) X(cuMemcpyHtoD) X(cuMemcpyDtoHAsync) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoDAsync)      \
  X(cuMemcpyPeerAsync) X(cuMemcpy3DAsync) X(cuModuleLoadData) X(cuModuleGetFunction) X(cuLaunchKernel)

struct Driver {
#define BENCH_MEMBER(name) decltype(&::name) name;
  BENCH_DRIVER_FUNCTIONS(BENCH_MEMBER)
#undef BENCH_MEMBER
};

/// Opened by the first call. Throws NoDevice where there is no driver.
const Driver& driver();

/// Throws what failed and how.
void check(CUresult result, const char* what);

/// Calls a function of the driver by its name in cuda.h.
#define BENCH_CU(name, ...) ::bench::check(::bench::driver().name(__VA_ARGS__), #name)

/// Copies to the device and waits: cuMemcpyHtoD may come back before the bytes are there, and streams that do not block would
/// overtake it.
inline void upload(CUdeviceptr to, const void* from, std::size_t bytes) {
  BENCH_CU(cuMemcpyHtoD, to, from, bytes);
  BENCH_CU(cuCtxSynchronize);
}

}  // namespace bench
