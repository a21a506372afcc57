// CUDA's driver API, looked up at run time. The same program therefore runs with the driver, with a
// replacement for the driver, and without one.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "device/cuda_driver_api.h"

namespace bench {

/// Thrown if there is no GPU to measure on.
struct NoDevice : std::runtime_error {
  using runtime_error::runtime_error;
};

/// The functions of cuda.h that the benchmarks call.
#define BENCH_DRIVER_FUNCTIONS(X) \
  X(cuInit)                       \
  X(cuGetErrorName)               \
  X(cuDriverGetVersion)           \
  X(cuDeviceGetCount)             \
  X(cuDeviceGet)                  \
  X(cuDeviceGetName)              \
  X(cuDeviceGetAttribute)         \
  X(cuDeviceCanAccessPeer)        \
  X(cuDevicePrimaryCtxRetain)     \
  X(cuDevicePrimaryCtxRelease)    \
  X(cuCtxSetCurrent)              \
  X(cuCtxSynchronize)             \
  X(cuCtxEnablePeerAccess)        \
  X(cuStreamCreate)               \
  X(cuStreamCreateWithPriority)   \
  X(cuStreamDestroy)              \
  X(cuStreamQuery)                \
  X(cuStreamSynchronize)          \
  X(cuStreamBatchMemOp)           \
  X(cuStreamBeginCapture)         \
  X(cuStreamEndCapture)           \
  X(cuGraphInstantiate)           \
  X(cuGraphLaunch)                \
  X(cuGraphExecDestroy)           \
  X(cuGraphDestroy)               \
  X(cuMemAlloc)                   \
  X(cuMemFree)                    \
  X(cuMemGetInfo)                 \
  X(cuMemHostRegister)            \
  X(cuMemHostUnregister)          \
  X(cuMemsetD8)                   \
  X(cuMemcpyDtoH)                 \
  X(cuMemcpyHtoD)                 \
  X(cuMemcpyDtoHAsync)            \
  X(cuMemcpyHtoDAsync)            \
  X(cuMemcpyDtoDAsync)            \
  X(cuMemcpyPeerAsync)            \
  X(cuMemcpy3DAsync)              \
  X(cuModuleLoadData)             \
  X(cuModuleGetFunction)          \
  X(cuLaunchKernel)               \
  X(cuIpcGetMemHandle)            \
  X(cuIpcOpenMemHandle)           \
  X(cuIpcCloseMemHandle)

struct Driver {
#define BENCH_MEMBER(name) decltype(&::name) name;
  BENCH_DRIVER_FUNCTIONS(BENCH_MEMBER)
#undef BENCH_MEMBER
};

/// Returns the functions. The first call opens the library. Throws NoDevice if there is no driver.
const Driver& driver();

/// Throws std::runtime_error with `what` and the error's name if `result` is an error.
void check(CUresult result, const char* what);

/// Calls a function of the driver by its name in cuda.h.
#define BENCH_CU(name, ...) ::bench::check(::bench::driver().name(__VA_ARGS__), #name)

/// Copies to the device and waits. cuMemcpyHtoD may return before the bytes are there, and
/// non-blocking streams would overtake it.
inline void upload(CUdeviceptr to, const void* from, std::size_t bytes) {
  BENCH_CU(cuMemcpyHtoD, to, from, bytes);
  BENCH_CU(cuCtxSynchronize);
}

}  // namespace bench
