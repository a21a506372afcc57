// What the probe kernels touch. Host and device share this.
#pragma once

#include <cstdint>

#include "geometry.hpp"

namespace bench {

constexpr std::uint64_t sector = 32;  // bytes: the unit in which a GPU's memory is read and written

/// Equal rows in two loops. No two rows share a sector. If `partial` is set, there is one row, and
/// every sector of it holds bytes that are not the layout's.
struct Rows {
  std::uint64_t base;    ///< from the begin of the user's buffer
  std::uint64_t length;  ///< bytes of a row
  std::uint32_t outer, inner;
  std::uint64_t outer_stride, inner_stride;
  std::uint32_t sectors;  ///< sectors of a row
  std::uint32_t partial;
};

/// The first byte of the layout in a sector, and whether the whole sector belongs to the layout.
struct Touched {
  std::uint64_t first;
  bool whole;
};

BENCH_ANYWHERE inline Touched touched(const Rows& rows, std::uint32_t i) {
  const std::uint32_t row = i / rows.sectors, k = i - row * rows.sectors;
  const std::uint32_t outer = row / rows.inner, inner = row - outer * rows.inner;
  const std::uint64_t begin = rows.base + outer * rows.outer_stride + inner * rows.inner_stride;
  const std::uint64_t end = begin + rows.length;
  const std::uint64_t at = begin / sector * sector + k * sector;
  return {at < begin ? begin : at, !rows.partial && at >= begin && at + sector <= end};
}

/// An entry of the list is the sector's number, doubled, plus 1 if the whole sector belongs to the
/// layout.
BENCH_ANYWHERE inline Touched touched(const std::uint32_t* list, std::uint32_t i) {
  return {std::uint64_t{list[i] >> 1} * sector, (list[i] & 1) != 0};
}

}  // namespace bench
