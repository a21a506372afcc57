// What the probe kernels touch; shared by host and device.
#pragma once

#include <cstdint>

namespace bench {

constexpr std::uint64_t sector = 32;  // bytes: what the memory of a GPU moves

/// Equal rows in two loops, none of which shares a sector with another; or with `partial` one row of which every sector
/// holds bytes that are not the layout's.
struct Rows {
  std::uint64_t base;    ///< from the user's buffer
  std::uint64_t length;  ///< bytes of a row
  std::uint32_t outer, inner;
  std::uint64_t outer_stride, inner_stride;
  std::uint32_t sectors;  ///< of a row
  std::uint32_t partial;
};

}  // namespace bench
