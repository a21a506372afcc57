// The kernels' work between two nests that have the same packed stream: each thread moves one word of it from its place in the one to its
// place in the other, without a packed copy between. Neighbouring threads have neighbouring words, so that one instruction has all of a sector.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// Words [first, first + words) of the stream.
template <class Index>
struct Move {
  Nest<Index> from, to;  // of words: those of a block are the innermost loop
  Index first = 0;
  Index words = 0;
};

/// Moves word i of the range. D: the number of loops on both sides, 0 where the compiler does not know it.
template <int W, int D, class Index>
DUNNAGE_HD void move_word(const Move<Index>& a, Index i) {
  if (i >= a.words) return;
  const auto item = static_cast<Index>(a.first + i);
  store<W>(a.to.user + locate<D, false>(a.to, item), load<W>(a.from.user + locate<D, false>(a.from, item)));
}

}  // namespace dunnage::pack::cuda
