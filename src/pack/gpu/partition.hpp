// Puts the kernels of pack/cuda/partition.hpp into streams.
#pragma once

#include "device/gpu.hpp"
#include "pack/cuda/partition.hpp"

namespace dunnage::pack::gpu {

/// Loads the kernels, so that later calls do not. Throws device::Error.
void prepare_partitions(device::Gpu& gpu);
/// Waits for the receiver, moves the partition, and tells the receiver. Throws device::Error.
void put_pready(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call);
/// Waits for all of the exchange. Throws device::Error.
void put_wait(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call);
/// Only moves the partition, which has `bytes` bytes. Throws device::Error.
void put_partition(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call, std::int64_t bytes);

}  // namespace dunnage::pack::gpu
