// A nest of loops for kernels: plain data, and the function from a position in the packed stream to
// an offset in the user's buffer.
#pragma once

#include "pack/cuda/divisor.hpp"

namespace dunnage::pack::cuda {

inline constexpr int max_loops = 8;

template <class Index>
struct Loop {
  Index count = 1;
  Divisor<Index> by;        // divides by `count`
  std::int64_t stride = 0;  // bytes in the user's buffer
};

/// An item is a word or a block. Item k of the packed stream is found by dividing k by the counts,
/// innermost first. A 32-bit `Index` is used for fewer than 2^31 items. The displacements of one
/// loop may be in a table.
template <class Index>
struct Nest {
  char* user = nullptr;                 // the address of the first item of the layout
  const std::int32_t* table = nullptr;  // displacements of loop `indexed`, in units of `table_unit` bytes
  std::int64_t table_unit = 1;
  std::int32_t loops = 0;
  std::int32_t indexed = -1;
  Loop<Index> loop[max_loops];  // innermost first
};

/// How many items are left in the innermost loop, and how many runs in the loop around it.
template <class Index>
struct Left {
  Index items = 1, runs = 1;
};

/// The offset of an item in the user's buffer, in bytes. D is the number of loops, or 0 if the
/// compiler does not know the number. T tells whether one of the loops has a table.
template <int D, bool T, class Index>
DUNNAGE_HD std::int64_t locate(const Nest<Index>& nest, Index item, Left<Index>& left) {
  const int n = D ? D : nest.loops;
  std::int64_t offset = 0;
  DUNNAGE_UNROLL
  for (int l = 0; l < (D ? D : max_loops); ++l) {
    if (!D && l == n) break;
    Index c = item;
    if (l + 1 < n) {
      item = nest.loop[l].by.quotient(c);
      c -= item * nest.loop[l].count;
    }
    if (l == 0) left.items = nest.loop[0].count - c;
    if (l == 1) left.runs = nest.loop[1].count - c;
    if (T && l == nest.indexed)
      offset += nest.table[c] * nest.table_unit;
    else
      offset += static_cast<std::int64_t>(c) * nest.loop[l].stride;
  }
  return offset;
}
template <int D, bool T, class Index>
DUNNAGE_HD std::int64_t locate(const Nest<Index>& nest, Index item) {
  Left<Index> left;
  return locate<D, T>(nest, item, left);
}

}  // namespace dunnage::pack::cuda
