// Kernels that send by themselves. Without a compiled image of kernels.cu, or without MPI 4, they
// print why nothing was measured.
#pragma once

#include "trips.hpp"

namespace triggered {

/// Legs by one kernel of one block.
void trips_by_kernel(const Legs& legs, const Shape& shape, int rounds);

/// The time of computing, of sending, and of both, where each block of a kernel sends a partition as
/// soon as it has computed it. `shape` has a multiple of `partitions` blocks.
void overlap(const Shape& shape, int partitions, int rounds);

}  // namespace triggered
