// The codes of kernels that no KernelId names. KernelId::code() gives no such numbers: the family
// is that of plain copies, which have no kernel.
#pragma once

#include <bit>
#include <cstdint>

#include "device/gpu.hpp"
#include "pack/cuda/kernel_id.hpp"

namespace dunnage::pack::gpu {

inline constexpr std::uint32_t signal_code = 1u << 12, exchange_code = signal_code | 1u << 4,
                               pready_code = signal_code | 2u << 4, partition_code = signal_code | 3u << 4,
                               stamped_code = signal_code | 4u << 4, wait_code = signal_code | 5u << 4;

/// Of the kernel that moves up to `entries` messages, and tells others. A power of two below 256.
constexpr std::uint32_t telling_code(std::uint32_t entries) {
  return signal_code | static_cast<std::uint32_t>(std::countr_zero(entries)) << 7;
}

static_assert(telling_code(128) < pack::cuda::KernelId::codes &&
              pack::cuda::KernelId::codes <= device::Gpu::most_kernels);

}  // namespace dunnage::pack::gpu
