// What the copy engines take. No message between the two GPUs can be faster.
#pragma once

#include <vector>

#include "cuda_aware/gpu.hpp"
#include "cuda_aware/measure.hpp"

namespace bench {

/// Prints the copy engine's times between this GPU and the other rank's GPU, or within this GPU if
/// the ranks share it. Also prints those between this GPU and pinned host memory. Call this on one
/// rank, while no other rank copies.
void print_ceilings(const Gpu& gpu, int other_rank, const std::vector<std::size_t>& sizes, int window, std::size_t most,
                    const Effort& effort);

}  // namespace bench
