// How the last block of a kernel finds out that it is the last one.
#pragma once

#include "pack/cuda/portable.hpp"

namespace dunnage::pack::cuda {

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
