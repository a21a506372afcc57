// Runs a whole nest of loops: chooses the order of the loops and the kernel. See nest.cpp.
#pragma once

#include "pack/cpu/kernels.hpp"

namespace dunnage::pack {

/// How a nest is walked. `tiled` and `transposed` interchange the innermost loop with loop `across`.
struct Walk {
  enum class Kind { copy, rows, tiled, transposed } kind;
  int across = 0;
};

/// The walk for loops `dims[0..n)`, outermost first, over blocks of `block` bytes. Pure.
Walk choose_walk(const Dim* dims, int n, std::int64_t block);

/// Runs all iterations. `streamed`: stores may bypass the caches where a whole line is written.
template <Direction D>
void run_whole_nest(const Dim* dims, int n, std::int64_t block, char* user, char* packed, bool streamed);

}  // namespace dunnage::pack
