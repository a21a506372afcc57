// Loops that an expert writes by hand for one access pattern and one processor: stores past the
// caches, and prefetches into the second-level cache. They show what a pattern costs on a machine.
// They know the pattern when they are compiled, and demand aligned buffers.
#pragma once

#include <cstddef>

#include "layout.hpp"

namespace bench {

/// Adds the loops for blocks of `block` bytes, `stride` bytes apart: blocks of whole lines, and
/// packing every other element of 4 or 8 bytes. For other patterns, and on processors without
/// AVX-512, nothing is added.
void set_past_caches(Layout& layout, std::size_t count, std::size_t block, std::size_t stride);

}  // namespace bench
