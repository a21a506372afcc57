// Kernels that send by themselves. Without a compiled image of kernels.cu, or without MPI 4, they
// print why nothing was measured.
#pragma once

#include "trips.hpp"

namespace triggered {

/// Legs by one kernel of one block.
void trips_by_kernel(const Legs& legs, int rounds);

/// The time of computing, of sending, and of both, where each block of a kernel sends each of its
/// partitions as soon as it has computed it. `senders`: warps of each block that send while the
/// others compute; 0 if all do both. The shape has a multiple of `partitions` blocks. If
/// ranks share a GPU, all blocks of their kernels must find room there at once, because blocks
/// wait for another rank.
void overlap(const Legs& legs, int partitions, int blocks_of_kernel, int senders, int rounds);

}  // namespace triggered
