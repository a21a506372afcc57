// The kernels that move data between two nests with the same packed stream, without a packed copy
// in between. Each thread moves one word from its place in one buffer to its place in the other.
// Neighbouring threads have neighbouring words, so that one instruction covers a whole sector.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// Words [first, first + words) of the packed stream.
template <class Index>
struct Move {
  Nest<Index> from, to;  // their items are words; the words of a block are the innermost loop
  Index first = 0;
  Index words = 0;
};

/// Moves word i of the range. D is the number of loops on both sides, or 0 if the compiler does not
/// know the number.
template <int W, int D, class Index>
DUNNAGE_HD void move_word(const Move<Index>& a, Index i) {
  if (i >= a.words) return;
  const auto item = static_cast<Index>(a.first + i);
  store<W>(a.to.user + locate<D, false>(a.to, item), load<W>(a.from.user + locate<D, false>(a.from, item)));
}

}  // namespace dunnage::pack::cuda
