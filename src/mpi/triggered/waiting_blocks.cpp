#include "mpi/triggered/waiting_blocks.hpp"

namespace dunnage::mpi {
namespace {

/// So many blocks move 1 MiB.
constexpr std::uint64_t most_of_an_exchange = 64;
/// The share of a GPU's threads that may wait.
constexpr std::uint64_t share = 8;

/// How many blocks run at a time on the GPU of the current context. 0 if that is not known.
std::uint64_t blocks_at_once(const device::Driver& driver) {
  CUdevice gpu = 0;
  int processors = 0, threads = 0;
  const auto ask = [&](int& value, CUdevice_attribute what) {
    return driver.cuDeviceGetAttribute && driver.cuDeviceGetAttribute(&value, what, gpu) == CUDA_SUCCESS;
  };
  if (driver.cuCtxGetDevice(&gpu) != CUDA_SUCCESS || !ask(processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) ||
      !ask(threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR))
    return 0;
  return static_cast<std::uint64_t>(processors) * (static_cast<std::uint64_t>(threads) / pack::cuda::block_threads);
}

}  // namespace

memory::Budget::Part take_waiting_blocks(const device::Driver& driver, const pack::gpu::Prepared& moves,
                                         const TriggerMeans& means) {
  const auto blocks = moves.waiting_blocks(), most = blocks_at_once(driver) / share;
  // With MPS other ranks may have blocks on this GPU that wait, and nobody knows how many.
  if (means.mps || blocks == 0 || blocks > std::min(most, most_of_an_exchange)) return {};
  return process->waiting_blocks.take(blocks, most);
}

}  // namespace dunnage::mpi
