#pragma once

#include <optional>
#include <vector>

#include "probe.hpp"

namespace bench {

/// The 32-byte sectors of the user's buffer that a case touches.
struct Sectors {
  std::uint64_t touched = 0;
  std::uint64_t whole = 0;  ///< of which every byte belongs to the case
  std::uint64_t first = 0, end = 0;  ///< the range that they are in
  std::optional<Rows> rows;          ///< what they are in closed form, where they have one
  std::vector<std::uint32_t> list;   ///< else each of them in order: its number, doubled, and 1 where it is whole

  /// Bytes that have to cross memory. Memory writes whole sectors: one that is written in part is read first.
  std::uint64_t pack_traffic(std::uint64_t payload) const { return sector * touched + payload; }
  std::uint64_t unpack_traffic(std::uint64_t payload) const { return payload + sector * (whole + 2 * (touched - whole)); }
};

/// Counts them, block by block. The user's buffer starts at a sector.
Sectors sectors(const Geometry& geometry);

}  // namespace bench
