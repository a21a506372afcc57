// Runs a whole nest of loops: chooses the order of the loops and the kernel.
#pragma once

#include "pack/cpu/kernels.hpp"

namespace dunnage::pack {

/// How a nest is walked. `tiled` and `transposed` interchange the innermost loop with the loop
/// `across`.
struct Walk {
  enum class Kind { copy, rows, tiled, transposed } kind;
  int across = 0;
};

/// Chooses the walk for the loops dims[0] to dims[n - 1], outermost first, over blocks of `block`
/// bytes. Pure.
Walk choose_walk(const Dim* dims, int n, std::int64_t block);

/// What is known of the caches.
struct CacheUse {
  bool streamed = false;  // whole lines may be stored past the caches
  bool far = false;       // the user's memory is probably not cached
  bool gathers = false;   // the packed bytes come to a small buffer first
};

/// Returns how blocks of `block` bytes, `stride` bytes apart, are prefetched on this processor.
Prefetch prefetch_of(CacheUse caches, Direction direction, std::int64_t block, std::int64_t stride);

/// Returns whether a nest can be packed past the caches as it is. If not, its blocks fill lines in
/// part only, and should be gathered first. `packed` is where the first block goes.
bool streams_directly(const Dim* dims, int n, std::int64_t block, const char* packed);

/// Runs all iterations of a nest. `user` and `packed` are the addresses of its first block.
template <Direction D>
void run_whole_nest(const Dim* dims, int n, std::int64_t block, char* user, char* packed, CacheUse caches);

}  // namespace dunnage::pack
