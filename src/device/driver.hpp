// The CUDA driver as a table of functions. Nothing is linked: the same binary runs where there is no driver.
#pragma once

#include <cuda.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "device/loads.hpp"

namespace dunnage::device {

// Every function of the driver that is used. The last ones may be missing in an older driver.
#define DUNNAGE_DRIVER_FUNCTIONS(X)                                                                                       \
  X(cuGetErrorName) X(cuDevicePrimaryCtxGetState) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) \
  X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuThreadExchangeStreamCaptureMode)         \
  X(cuPointerGetAttributes) X(cuMemAlloc) X(cuMemFree) X(cuMemAllocHost) X(cuMemFreeHost) X(cuMemcpyAsync)                 \
  X(cuMemcpyPeerAsync) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamQuery) X(cuStreamSynchronize) X(cuEventCreate)         \
  X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuLaunchKernel)
#define DUNNAGE_NEWER_DRIVER_FUNCTIONS(X)                                                                                   \
  X(cuCtxGetId) X(cuDeviceGetUuid) X(cuMemHostRegister) X(cuMemHostUnregister) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle) \
  X(cuMemRetainAllocationHandle) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) X(cuMemRelease)          \
  X(cuMemAddressReserve) X(cuMemAddressFree) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess)

struct Driver {
#define DUNNAGE_MEMBER(function) decltype(&::function) function = nullptr;
  DUNNAGE_DRIVER_FUNCTIONS(DUNNAGE_MEMBER)
  DUNNAGE_NEWER_DRIVER_FUNCTIONS(DUNNAGE_MEMBER)
#undef DUNNAGE_MEMBER
  bool simulated = false;
};

/// Which driver is to be looked for.
enum class Source {
  automatic,  // the one that the program has loaded
  off,        // none
  sim,        // the simulated one, from beside the backends
};
/// Says so, and where the files of this installation are, ending in '/'. Before the first call of driver().
void look_for_driver(Source source, std::string folder);
/// That folder.
const std::string& folder();

/// The driver, or null while the program has not loaded one: it is never loaded by us. Costs next to nothing while no
/// library has been loaded since the last call (device/loads.hpp), and once the driver is there. Thread-safe.
const Driver* find_driver();
extern std::atomic<const Driver*> found_driver;
/// Whether there is none, told at once.
inline bool surely_no_driver() { return surely_nothing_loaded() && !found_driver.load(std::memory_order_relaxed); }
inline const Driver* driver() {
  if (surely_no_driver()) return nullptr;
  const auto* there = found_driver.load(std::memory_order_acquire);
  return there ? there : find_driver();
}

/// A function of the driver has failed.
class Error : public std::runtime_error {
 public:
  Error(const Driver& driver, CUresult code, const char* what);
  /// Not the driver's own.
  Error(CUresult code, const std::string& text) : std::runtime_error(text), code(code) {}
  CUresult code;
};
inline void check(const Driver& driver, CUresult code, const char* what) {
  if (code != CUDA_SUCCESS) throw Error(driver, code, what);
}

}  // namespace dunnage::device
