#include "mpi/triggered/waiting_blocks.hpp"

namespace dunnage::mpi {
namespace {

/// So many blocks move 1 MiB.
constexpr std::uint64_t most_of_an_exchange = 64;

/// How many blocks may wait on the GPU of the current context: one for every second
/// multiprocessor. So the others are free for blocks that need a whole one.
std::uint64_t most_of_a_gpu(const device::Driver& driver) {
  CUdevice gpu = 0;
  if (driver.cuCtxGetDevice(&gpu) != CUDA_SUCCESS) return 0;
  return static_cast<std::uint64_t>(device::multiprocessors(driver, gpu)) / 2;
}

}  // namespace

memory::Budget::Part take_waiting_blocks(const device::Driver& driver, const pack::gpu::Prepared& moves,
                                         const TriggerMeans& means) {
  const auto blocks = moves.waiting_blocks(), most = std::min(most_of_a_gpu(driver), most_of_an_exchange);
  // With MPS other ranks may have blocks on this GPU that wait, and nobody knows how many.
  if (means.mps || blocks == 0 || blocks > most) return {};
  return process->waiting_blocks.take(blocks, most);
}

}  // namespace dunnage::mpi
