// Kernels that one call puts into a stream, one behind the other.
#pragma once

#include "device/gpu.hpp"

namespace dunnage::pack::gpu {

/// The first kernel begins when all work in front of it has ended. The others may begin while the
/// kernel in front of them ends (device/overlapping_launches.hpp). The first may not: the program's
/// kernel in front of it could be one that does not wait for its own predecessor.
class KernelChain {
 public:
  KernelChain(device::Gpu& gpu, CUstream stream) : gpu(gpu), stream(stream) {}

  /// A kernel that calls await_kernels_before(). Throws device::Error.
  void put(CUfunction kernel, std::uint32_t blocks, std::uint32_t threads, void* parameter) {
    if (begun_)
      gpu.launch_overlapping(kernel, blocks, threads, stream, parameter);
    else
      gpu.launch(kernel, blocks, threads, stream, parameter);
    begun_ = true;
  }

  device::Gpu& gpu;
  const CUstream stream;

 private:
  bool begun_ = false;
};

}  // namespace dunnage::pack::gpu
