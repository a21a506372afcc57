#include "pack/gpu/partition.hpp"

#include <algorithm>

#include "pack/cuda/launch.hpp"
#include "pack/cuda/signal.hpp"
#include "pack/gpu/kernel_codes.hpp"

namespace dunnage::pack::gpu {
namespace {

CUfunction pready_kernel(device::Gpu& gpu) {
  return gpu.kernel(pready_code, [] { return std::string("pready"); });
}
CUfunction partition_kernel(device::Gpu& gpu) {
  return gpu.kernel(partition_code, [] { return std::string("partition"); });
}

CUfunction wait_kernel(device::Gpu& gpu) {
  return gpu.kernel(wait_code, [] { return std::string("wait_exchange"); });
}

}  // namespace

void prepare_partitions(device::Gpu& gpu) {
  gpu.load(pready_kernel(gpu));
  gpu.load(partition_kernel(gpu));
  gpu.load(wait_kernel(gpu));
}

void put_pready(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call) {
  gpu.launch(pready_kernel(gpu), 1, pack::cuda::block_threads, stream, &call);
}

void put_wait(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call) {
  gpu.launch(wait_kernel(gpu), 1, pack::cuda::signal_threads, stream, &call);
}

void put_partition(device::Gpu& gpu, CUstream stream, pack::cuda::PartitionCall call, std::int64_t bytes) {
  constexpr std::int64_t of_a_block = 32 << 10, most_blocks = 264;  // two for each of an H200's processors
  const auto blocks = std::clamp<std::int64_t>((bytes + of_a_block - 1) / of_a_block, 1, most_blocks);
  gpu.launch(partition_kernel(gpu), static_cast<std::uint32_t>(blocks), pack::cuda::block_threads, stream, &call);
}

}  // namespace dunnage::pack::gpu
