#include "mpi/process/default_stream.hpp"

#include "device/gpu.hpp"
#include "device/place.hpp"

namespace dunnage::mpi {

void await_default_stream() try {
  const auto* driver = device::driver();
  CUcontext context = nullptr;
  if (!driver || driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return;
  const device::Scope scope(*driver, context);
  device::Gpu::current(*driver).default_stream().wait();
} catch (const std::exception&) {
  // The program captures a blocking stream, or its context is broken, which the call will meet.
}

}  // namespace dunnage::mpi
