// The kernels on the host. The functions are those of the device, run thread by thread. Tests and
// the simulated device use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dunnage::pack::cuda {

/// Returns the host address of memory that a parameter points to.
using Translate = void* (*)(const void*);

struct EmulatedKernel {
  const char* name;
  std::size_t parameter_size;  // bytes
  /// Runs `blocks` blocks. `parameter` points to the kernel's only parameter. `shared`: bytes of
  /// shared memory.
  void (*run)(const void* parameter, std::uint64_t blocks, std::uint32_t shared, Translate translate);
};

/// Is called when most blocks of a kernel have ended, with the number of those that still run. The
/// kernel is that of the calling thread. Null if nobody wants to know.
inline void (*blocks_left)(unsigned) = nullptr;

/// All emulated kernels.
std::span<const EmulatedKernel> emulated_kernels();

}  // namespace dunnage::pack::cuda
