// The kernels that move several messages from layout to layout in one launch. An entry has a nest
// on both sides, which may be in different buffers, and in the memory of different devices.
#pragma once

#include "pack/cuda/fused.hpp"

namespace dunnage::pack::cuda {

/// Words with equal numbers in two nests.
struct FusedMove {
  FusedNest from, to;
  std::uint32_t words = 0;  // how many words to move
  std::uint32_t word = 1;   // bytes of a word
};

/// Moves the words of one thread. `at` is the first of them.
template <int W>
DUNNAGE_HD void move_both(const FusedMove& e, std::uint32_t at) {
  Word<W> words[fused_words];
  char* to[fused_words];
  DUNNAGE_UNROLL
  for (std::uint32_t u = 0; u < fused_words; ++u) {
    const auto i = at + u * block_threads;
    to[u] = nullptr;
    if (i >= e.words) continue;
    words[u] = load<W>(locate(e.from, i));
    to[u] = locate(e.to, i);
  }
  DUNNAGE_UNROLL
  for (std::uint32_t u = 0; u < fused_words; ++u)
    if (to[u]) store<W>(to[u], words[u]);
}

template <int N>
DUNNAGE_HD void run_moves(const Fused<N, FusedMove>& f, std::uint32_t block, std::uint32_t thread) {
  const auto& entry = fused_entry(f, block);
  const auto at = block * (block_threads * fused_words) + thread;
  switch (entry.word) {
    case 1: return move_both<1>(entry, at);
    case 2: return move_both<2>(entry, at);
    case 4: return move_both<4>(entry, at);
    case 8: return move_both<8>(entry, at);
    default: return move_both<16>(entry, at);
  }
}

}  // namespace dunnage::pack::cuda
