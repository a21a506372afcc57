// Puts the kernels of pack/cuda/signal.hpp into streams.
#pragma once

#include "device/gpu.hpp"
#include "pack/cuda/signal.hpp"
#include "pack/cuda/stamped.hpp"

namespace dunnage::pack::gpu {

/// Loads the kernels, so that later calls do not. Throws device::Error.
void prepare_signals(device::Gpu& gpu);
/// Tells and waits as `signal` says. Throws device::Error.
void put(device::Gpu& gpu, CUstream stream, pack::cuda::Signal signal);
/// Throws device::Error.
void put(device::Gpu& gpu, CUstream stream, pack::cuda::SmallExchange& exchange);
/// Throws device::Error.
void put(device::Gpu& gpu, CUstream stream, pack::cuda::StampedExchange exchange);

}  // namespace dunnage::pack::gpu
