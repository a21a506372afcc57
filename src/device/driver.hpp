// The CUDA driver as a table of functions. No library of CUDA is linked, so the same binary runs on
// machines without a driver.
#pragma once

#include <atomic>
#include <stdexcept>
#include <string>

#include "device/cuda_driver_api.h"
#include "device/loads.hpp"

namespace dunnage::device {

// Every function of the driver that we use. An older driver may lack those of the second list;
// their pointers are then null.
#define DUNNAGE_DRIVER_FUNCTIONS(X)    \
  X(cuGetErrorName)                    \
  X(cuDevicePrimaryCtxGetState)        \
  X(cuDevicePrimaryCtxRetain)          \
  X(cuDevicePrimaryCtxRelease)         \
  X(cuCtxGetCurrent)                   \
  X(cuCtxGetDevice)                    \
  X(cuCtxPushCurrent)                  \
  X(cuCtxPopCurrent)                   \
  X(cuThreadExchangeStreamCaptureMode) \
  X(cuPointerGetAttributes)            \
  X(cuMemAlloc)                        \
  X(cuMemFree)                         \
  X(cuMemAllocHost)                    \
  X(cuMemFreeHost)                     \
  X(cuMemcpyAsync)                     \
  X(cuMemcpyPeerAsync)                 \
  X(cuStreamCreate)                    \
  X(cuStreamDestroy)                   \
  X(cuStreamQuery)                     \
  X(cuStreamSynchronize)               \
  X(cuEventCreate)                     \
  X(cuEventDestroy)                    \
  X(cuEventRecord)                     \
  X(cuEventSynchronize)                \
  X(cuModuleLoadData)                  \
  X(cuModuleUnload)                    \
  X(cuModuleGetFunction)               \
  X(cuLaunchKernel)
#define DUNNAGE_NEWER_DRIVER_FUNCTIONS(X) \
  X(cuCtxGetId)                           \
  X(cuDeviceGetUuid)                      \
  X(cuMemHostRegister)                    \
  X(cuMemHostUnregister)                  \
  X(cuIpcGetMemHandle)                    \
  X(cuIpcOpenMemHandle)                   \
  X(cuIpcCloseMemHandle)                  \
  X(cuMemRetainAllocationHandle)          \
  X(cuMemExportToShareableHandle)         \
  X(cuMemImportFromShareableHandle)       \
  X(cuMemRelease)                         \
  X(cuMemAddressReserve)                  \
  X(cuMemAddressFree)                     \
  X(cuMemMap)                             \
  X(cuMemUnmap)                           \
  X(cuMemSetAccess)                       \
  X(cuDeviceGetAttribute)                 \
  X(cuFuncLoad)                           \
  X(cuStreamCreateWithPriority)           \
  X(cuStreamIsCapturing)                  \
  X(cuStreamWriteValue64)                 \
  X(cuGraphCreate)                        \
  X(cuGraphAddKernelNode)                 \
  X(cuGraphInstantiate)                   \
  X(cuGraphExecKernelNodeSetParams)       \
  X(cuGraphLaunch)                        \
  X(cuGraphExecDestroy)                   \
  X(cuGraphDestroy)                       \
  X(cuGraphGetNodes)                      \
  X(cuGraphUpload)                        \
  X(cuStreamBeginCapture)                 \
  X(cuStreamEndCapture)                   \
  X(cuStreamBatchMemOp)

struct Driver {
#define DUNNAGE_MEMBER(function) decltype(&::function) function = nullptr;
  DUNNAGE_DRIVER_FUNCTIONS(DUNNAGE_MEMBER)
  DUNNAGE_NEWER_DRIVER_FUNCTIONS(DUNNAGE_MEMBER)
#undef DUNNAGE_MEMBER
  bool simulated = false;
};

/// Which driver to look for.
enum class Source {
  automatic,  // the one that the program has loaded
  off,        // no driver
  sim,        // the simulated driver, which is installed with the backends
};
/// Sets which driver to look for. `folder` is where the files of this installation are, and ends in
/// '/'. To be called before the first call of driver().
void look_for_driver(Source source, std::string folder);
/// The folder that look_for_driver() was given.
const std::string& folder();

/// The driver, or null while the program has not loaded one. Only the simulated driver is loaded by
/// us. A call costs a few nanoseconds if no library was loaded since the last call
/// (device/loads.hpp) or if the driver is already found. Thread-safe.
const Driver* find_driver();
extern std::atomic<const Driver*> found_driver;
/// Whether there is certainly no driver. Costs about a nanosecond; false means that driver() must
/// be asked.
[[gnu::always_inline]] inline bool surely_no_driver() {
  return surely_nothing_loaded() && !found_driver.load(std::memory_order_relaxed);
}
inline const Driver* driver() {
  if (surely_no_driver()) return nullptr;
  const auto* there = found_driver.load(std::memory_order_acquire);
  return there ? there : find_driver();
}

/// The MPI has loaded what it needs, and most programs load nothing more: from now on
/// surely_no_driver() tells at once. Thread-safe.
void settle_driver();

/// The driver that the program has loaded, if driver() is null because this installation has no
/// kernels (device/kernels.hpp). It serves to recognise memory that must be left to the MPI.
/// Thread-safe.
const Driver* driver_without_kernels();
/// Whether driver_without_kernels() may become other than null. Thread-safe.
bool may_lack_kernels();
/// Whether this host probably has GPUs, so that the program may load the driver later. Asks the
/// file system.
bool gpus_probable();
/// Why driver() is null although the program has loaded a driver, for the report: the installation
/// has no kernels (device/kernels.hpp). Null if driver() is not null, or if it is null for another
/// reason. Thread-safe.
const char* why_driver_is_unused();

/// Whether the program can have device memory that we handle. The program need not have loaded the
/// driver yet. Thread-safe.
bool can_handle_devices();
/// Whether an installation with that folder can handle devices once the program loads the driver.
/// `node`: a file that is there if the system has the driver of a GPU.
bool could_handle_devices(const std::string& folder, const char* node);

/// Thrown if a function of the driver fails.
class Error : public std::runtime_error {
 public:
  Error(const Driver& driver, CUresult code, const char* what);
  /// An error that we found ourselves, not one that the driver returned.
  Error(CUresult code, const std::string& text) : std::runtime_error(text), code(code) {}
  CUresult code;
};
inline void check(const Driver& driver, CUresult code, const char* what) {
  if (code != CUDA_SUCCESS) throw Error(driver, code, what);
}

}  // namespace dunnage::device
