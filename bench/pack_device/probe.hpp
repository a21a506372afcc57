// What the probe kernels touch; shared by host and device.
#pragma once

#include <cstdint>

#include "geometry.hpp"

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

/// The first byte of the layout in a sector, and whether all of the sector is the layout's.
struct Touched {
  std::uint64_t first;
  bool whole;
};

BENCH_ANYWHERE inline Touched touched(const Rows& rows, std::uint32_t i) {
  const std::uint32_t row = i / rows.sectors, k = i - row * rows.sectors;
  const std::uint32_t outer = row / rows.inner, inner = row - outer * rows.inner;
  const std::uint64_t begin = rows.base + outer * rows.outer_stride + inner * rows.inner_stride, end = begin + rows.length;
  const std::uint64_t at = begin / sector * sector + k * sector;
  return {at < begin ? begin : at, !rows.partial && at >= begin && at + sector <= end};
}

/// In a list: the sector's number, doubled, and 1 for a whole one.
BENCH_ANYWHERE inline Touched touched(const std::uint32_t* list, std::uint32_t i) {
  return {std::uint64_t{list[i] >> 1} * sector, (list[i] & 1) != 0};
}

}  // namespace bench
