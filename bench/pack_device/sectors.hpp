#pragma once

#include <optional>
#include <vector>

#include "probe.hpp"

namespace bench {

/// The 32-byte sectors of the user's buffer that a case touches.
struct Sectors {
  std::uint64_t touched = 0;
  std::uint64_t whole = 0;           ///< sectors of which every byte belongs to the case
  std::uint64_t first = 0, end = 0;  ///< the range that the sectors lie in
  std::optional<Rows> rows;          ///< the sectors in closed form, if they have one
  /// Else each sector in order: its number, doubled, plus 1 if it is whole.
  std::vector<std::uint32_t> list;

  /// Returns the bytes that must cross memory. Memory writes whole sectors, so a sector that is
  /// written in part is read first.
  std::uint64_t pack_traffic(std::uint64_t payload) const { return sector * touched + payload; }
  std::uint64_t unpack_traffic(std::uint64_t payload) const {
    return payload + sector * (whole + 2 * (touched - whole));
  }
};

/// Counts the sectors, block by block. The user's buffer must begin at a sector.
Sectors sectors(const Geometry& geometry);

}  // namespace bench
