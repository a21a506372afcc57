// What the copy engines do: no message between the two GPUs can be faster.
#pragma once

#include <vector>

#include "cuda_aware/gpu.hpp"
#include "cuda_aware/measure.hpp"

namespace bench {

/// Prints the copy engine's times between this GPU and the other rank's, or within this one if that is the same, and between
/// this one and pinned host memory. On one rank alone, while nobody else copies.
void print_ceilings(const Gpu& gpu, int other_rank, const std::vector<std::size_t>& sizes, int window, std::size_t most,
                    const Effort& effort);

}  // namespace bench
