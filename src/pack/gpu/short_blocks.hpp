// Data in short blocks, of which another GPU reads a packed copy faster
// (docs/decisions/0036-packed-for-another-gpu.md).
#pragma once

#include <cstdint>

#include "pack/gpu/described.hpp"

namespace dunnage::pack::gpu {

/// Data in blocks that are short and far apart.
struct ShortBlocks {
  std::int64_t bytes = 0;
  /// Another GPU reads that many bytes of them in that time if the pages of the memory are large.
  std::int64_t cost = 0;

  ShortBlocks& operator+=(const ShortBlocks& other) {
    bytes += other.bytes;
    cost += other.cost;
    return *this;
  }
  /// Whether another GPU reads a packed copy faster.
  bool much() const { return cost >= 4 << 20; }
};

/// Nothing if the data are not like that. Thread-safe.
ShortBlocks short_blocks_of(const Described& data);

}  // namespace dunnage::pack::gpu
