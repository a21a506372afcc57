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

/// What is known of the caches. `streamed`: whole lines may be stored past them. `far`: the user's memory is not
/// expected in them.
struct Memory {
  bool streamed = false, far = false;
};

/// Blocks from this length on are streamed one by one; shorter ones would leave too many lines half written.
template <Direction D>
constexpr std::int64_t stream_block() {
  return D == Direction::pack ? 512 : 256;
}

/// Runs all iterations.
template <Direction D>
void run_whole_nest(const Dim* dims, int n, std::int64_t block, char* user, char* packed, Memory memory);

}  // namespace dunnage::pack
