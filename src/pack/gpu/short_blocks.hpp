// Data in short blocks, of which another GPU reads a packed copy faster
// (docs/decisions/0036-packed-for-another-gpu.md).
#pragma once

#include <cstdint>

#include "pack/gpu/described.hpp"

namespace dunnage::pack::gpu {

/// Data in blocks that are short and far apart.
struct ShortBlocks {
  /// Bytes in many small pages cost so many times as much as others.
  static constexpr std::int64_t cost_of_many_pages = 8;
  /// From such a cost on, another GPU reads a packed copy faster.
  static constexpr std::int64_t much_cost = 4 << 20;
  /// Fewer bytes are never much.
  static constexpr std::int64_t least = much_cost / cost_of_many_pages;

  std::int64_t bytes = 0;
  /// So many bytes from large pages take as long to read by another GPU.
  std::int64_t cost = 0;

  ShortBlocks& operator+=(const ShortBlocks& other) {
    bytes += other.bytes;
    cost += other.cost;
    return *this;
  }
  bool much() const { return cost >= much_cost; }
};

/// Nothing if the data are not like that. Thread-safe.
ShortBlocks short_blocks_of(const Described& data);

}  // namespace dunnage::pack::gpu
