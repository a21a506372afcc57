// The kernels that move several messages from layout to layout, and whose last block tells the host
// of that, if somebody asks for it. The driver knows of the end only later.
#pragma once

#include "pack/cuda/finished_blocks.hpp"
#include "pack/cuda/signal.hpp"

namespace dunnage::pack::cuda {

/// Of the kernels of one stream, of which one runs at a time. In device memory, and 0 at first.
struct CompletionCount {
  std::uint64_t kernels;   // that have told their end
  std::uint32_t finished;  // blocks of the kernel that runs
};

struct Completion {
  CompletionCount* count = nullptr;
  std::uint64_t* told = nullptr;  // in host memory: CompletionCount::kernels. Null: nobody is told
};

template <int N>
struct CompletingMoves {
  Completion completion;
  Fused<N, FusedMove> moves;
};

/// A block has moved all its words. `kernels`: CompletionCount::kernels before that.
DUNNAGE_HD void complete(const Completion& c, std::uint64_t kernels, std::uint32_t blocks) {
  if (blocks > 1 && !finish_block(&c.count->finished, blocks)) return;
  c.count->kernels = kernels + 1;
  store_release(c.told, kernels + 1);
}

#ifdef __CUDACC__
/// What each thread of a kernel does, whose threads move U words.
template <std::uint32_t U, int N>
__device__ void move_and_complete(const CompletingMoves<N>& m) {
  const bool tells = m.completion.told && threadIdx.x == 0;
  // Read early, so that nothing waits for it at the end.
  const auto kernels = tells ? m.completion.count->kernels : 0;
  run_fused<true, U>(m.moves, blockIdx.x, threadIdx.x);
  if (!m.completion.told) return;
  __syncthreads();
  if (tells) complete(m.completion, kernels, gridDim.x);
}
#endif

/// What fused_launch() fills.
template <int N, class Entry>
Fused<N, Entry>& fused_of(Fused<N, Entry>& all) {
  return all;
}
template <int N>
Fused<N, FusedMove>& fused_of(CompletingMoves<N>& all) {
  return all.moves;
}

}  // namespace dunnage::pack::cuda
