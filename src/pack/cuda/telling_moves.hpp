// The kernels that move several messages from layout to layout, and whose last block tells others
// of that. A kernel of its own for that would begin a microsecond after the last block. If there
// are few blocks, all of them wait for other ranks first, which saves one more kernel.
#pragma once

#include "pack/cuda/signal.hpp"

namespace dunnage::pack::cuda {

template <int N>
struct TellingMoves {
  Signal before;                      // what every block waits for, if anything; its epoch is that of `after`
  Signal after;                       // what the last block tells and waits for
  std::uint32_t* finished = nullptr;  // how many blocks have finished; 0 before the launch and after it
  Fused<N, FusedMove> moves;
};

/// Says that a block has finished, when all its threads have moved their words. Returns whether the
/// block was the last one, which then knows of all words of all blocks.
DUNNAGE_HD bool finish_block(std::uint32_t* finished, std::uint32_t blocks) {
  std::uint32_t before;
#ifdef __CUDA_ARCH__
  // The increment wraps to 0 after the last block.
  asm volatile("fence.acq_rel.gpu; atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(finished), "r"(blocks - 1)
               : "memory");
#else
#ifndef __CUDACC__
  if (held_stores) held_stores->release();
#endif
  before = (*finished)++;
  if (before == blocks - 1) *finished = 0;
#endif
  return before == blocks - 1;
}

}  // namespace dunnage::pack::cuda
