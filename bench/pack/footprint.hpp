#pragma once

#include <cstddef>
#include <vector>

#include "buffer.hpp"
#include "layout.hpp"

namespace bench {

/// The cache lines of the user's buffer that a layout touches.
struct Footprint {
  struct Run {
    std::size_t first, count;  ///< lines
  };
  std::vector<Run> runs;     ///< runs of neighbouring touched lines
  std::size_t touched = 0;   ///< number of touched lines
  std::size_t complete = 0;  ///< number of lines of which every byte belongs to the layout

  /// Returns the bytes that must cross memory. A line that an unpack writes only in part must be
  /// read first.
  std::size_t pack_traffic(std::size_t payload) const { return cache_line * touched + payload; }
  std::size_t unpack_traffic(std::size_t payload) const {
    return payload + cache_line * (complete + 2 * (touched - complete));
  }
};

/// Returns the footprint, found by unpacking ones into zeros. Leaves zeros in the buffer, except in
/// the layout's bytes.
Footprint footprint(const Layout& layout, Buffer& user, std::size_t payload);

}  // namespace bench
