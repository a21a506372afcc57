// What a stream needs at least for a leg: a kernel that writes into the other GPU's memory and
// raises a flag there, and one that waits; or memory operations in place of both. The peers map
// each other's memory by CUDA's IPC, and send no messages.
#pragma once

#include "trips.hpp"

namespace triggered {

/// Legs by memory operations, if the data are contiguous, and by kernels, if they were compiled and
/// each rank has a GPU of its own.
void trips_by_bare_operations(const Legs& legs, int rounds);

}  // namespace triggered
