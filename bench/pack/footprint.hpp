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
  std::vector<Run> runs;     ///< of neighbouring touched lines
  std::size_t touched = 0;   ///< lines
  std::size_t complete = 0;  ///< lines of which every byte belongs to the layout

  /// Bytes that have to cross memory. A line that an unpack writes only in part has to be read first.
  std::size_t pack_traffic(std::size_t payload) const { return cache_line * touched + payload; }
  std::size_t unpack_traffic(std::size_t payload) const {
    return payload + cache_line * (complete + 2 * (touched - complete));
  }
};

/// Finds out by unpacking ones into zeros. Leaves the buffer zeroed but for the layout's bytes.
Footprint footprint(const Layout& layout, Buffer& user, std::size_t payload);

}  // namespace bench
