// Puts the kernels of pack/cuda/signal.hpp into streams.
#pragma once

#include "pack/cuda/signal.hpp"
#include "pack/cuda/stamped.hpp"
#include "pack/gpu/kernel_chain.hpp"

namespace dunnage::pack::gpu {

/// Loads the kernels, so that later calls do not. Throws device::Error.
void prepare_signals(device::Gpu& gpu);
/// Tells and waits as `signal` says. Throws device::Error.
void put(KernelChain& chain, pack::cuda::Signal signal);
/// Throws device::Error.
void put(KernelChain& chain, pack::cuda::SmallExchange& exchange);
/// Throws device::Error.
void put(KernelChain& chain, pack::cuda::StampedExchange exchange);

}  // namespace dunnage::pack::gpu
