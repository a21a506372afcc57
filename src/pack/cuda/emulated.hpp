// The kernels on the host: the same functions, thread by thread. For tests, and for the simulated device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dunnage::pack::cuda {

/// Where memory that the parameters name can be reached from here.
using Translate = void* (*)(const void*);

struct EmulatedKernel {
  const char* name;
  std::size_t parameter_size;  // bytes
  /// Runs `blocks` blocks. `parameter` is the kernel's one parameter, as it would be launched with.
  void (*run)(const void* parameter, std::uint64_t blocks, std::uint32_t shared, Translate translate);
};

/// All of them.
std::span<const EmulatedKernel> emulated_kernels();

}  // namespace dunnage::pack::cuda
