// What kernels do that may begin before the kernel in front of them has ended
// (device/overlapping_launches.hpp).
#pragma once

#include "pack/cuda/portable.hpp"

namespace dunnage::pack::cuda {

/// Waits until the kernels in front of this one have ended, and sees all that they have stored. To
/// be called by all threads before they access memory. Does nothing in other launches.
DUNNAGE_HD void await_kernels_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/// The kernel behind this one may begin, when a thread of each block has called this or the block
/// has ended. To be called when no thread waits for another rank any more: a kernel that has begun
/// takes room on the GPU, which that rank may need.
DUNNAGE_HD void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

}  // namespace dunnage::pack::cuda
