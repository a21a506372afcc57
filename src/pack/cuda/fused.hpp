// The kernels for several nests in one launch. Each entry gets a range of the blocks of threads,
// one entry after the other.
#pragma once

#include "pack/cuda/dense.hpp"

namespace dunnage::pack::cuda {

/// Threads of a block.
inline constexpr std::uint32_t block_threads = 256;

inline constexpr int max_fused = 128;  // entries; more would not fit into a kernel's parameters

/// How many words a thread moves at most. All its loads are in flight at the same time.
/// Neighbouring threads move neighbouring words.
inline constexpr std::uint32_t fused_words = 4;
inline constexpr int fused_loops = 3;

/// A nest of at most three loops without a table, from word `first` on. The struct is small,
/// because it is sent with every launch. A missing loop has one step, so that the code is the same
/// for all shapes.
struct FusedNest {
  char* user = nullptr;  // the address of the nest's first byte
  std::uint32_t first = 0;
  std::uint32_t count[fused_loops - 1] = {1, 1};  // innermost first; the outermost loop needs no count
  Divisor<std::uint32_t> by[fused_loops - 1];
  std::int64_t stride[fused_loops] = {};
};

/// A range of a nest, and its packed words.
struct FusedEntry {
  std::uint32_t words = 0;  // how many words to move
  std::uint32_t word = 1;   // bytes of a word
  FusedNest nest;
  char* packed = nullptr;  // the address of word `first`
};

/// N entries, the largest first. The whole struct is sent with every launch.
template <int N, class Entry = FusedEntry>
struct Fused {
  std::uint32_t end_block[N];  // the block after each entry; unused entries repeat the last number
  Entry entry[N];
};

/// The entry of a block. `block` becomes the number of the block within that entry. The ends are
/// read by cache lines of constants, because the first access to a line is slow. The largest
/// entries come first, so nearly every block finds its entry in the first line.
template <int N, class Entry>
DUNNAGE_HD const Entry& fused_entry(const Fused<N, Entry>& f, std::uint32_t& block) {
  constexpr int line = N < 16 ? N : 16;
  int i = 0;  // how many entries end before the block
  for (int begin = 0; begin < N && i == begin; begin += line) {
    DUNNAGE_UNROLL
    for (int k = 0; k < line; ++k) i += block >= f.end_block[begin + k];
  }
  if (i > 0) block -= f.end_block[i - 1];
  return f.entry[i];
}

/// The address of word i of the range.
DUNNAGE_HD char* locate(const FusedNest& e, std::uint32_t i) {
  const auto item = e.first + i;
  const auto run = e.by[0].quotient(item), plane = e.by[1].quotient(run);
  return e.user + static_cast<std::int64_t>(item - run * e.count[0]) * e.stride[0] +
         static_cast<std::int64_t>(run - plane * e.count[1]) * e.stride[1] +
         static_cast<std::int64_t>(plane) * e.stride[2];
}

/// Where a word comes from, and where it goes.
struct Ends {
  const char* from = nullptr;
  char* to = nullptr;  // null if there is no word
};
template <bool Pack>
DUNNAGE_HD Ends ends(const FusedEntry& e, std::uint32_t i) {
  char *user = locate(e.nest, i), *packed = e.packed + static_cast<std::int64_t>(i) * e.word;
  return Pack ? Ends{user, packed} : Ends{packed, user};
}

/// The data are there when the kernel begins.
struct DataReady {
  DUNNAGE_HD void operator()() const {}
};

/// Moves words of W bytes. All of them are read before the first one is written.
template <int W, std::uint32_t U>
DUNNAGE_HD void move_words(const Ends (&word)[U]) {
  Word<W> words[U];
  DUNNAGE_UNROLL
  for (std::uint32_t u = 0; u < U; ++u)
    if (word[u].to) words[u] = load<W>(word[u].from);
  DUNNAGE_UNROLL
  for (std::uint32_t u = 0; u < U; ++u)
    if (word[u].to) store<W>(word[u].to, words[u]);
}

/// Moves the U words of one thread of a block. `wait()` returns when the data may be moved.
/// Meanwhile the thread finds out where its words are, which takes about a microsecond: most of
/// that goes to constants that are read for the first time. So no branch depends on one of them
/// before all have been asked for.
template <bool Pack, std::uint32_t U = fused_words, int N, class Entry, class Wait = DataReady>
DUNNAGE_HD void run_fused(const Fused<N, Entry>& f, std::uint32_t block, std::uint32_t thread, Wait wait = {}) {
  const auto& entry = fused_entry(f, block);
  const auto at = block * (block_threads * U) + thread;
  Ends word[U];
  DUNNAGE_UNROLL
  for (std::uint32_t u = 0; u < U; ++u) {
    const auto i = at + u * block_threads;
    word[u] = ends<Pack>(entry, i);
    if (i >= entry.words) word[u].to = nullptr;
  }
  wait();
  switch (entry.word) {
    case 1: return move_words<1>(word);
    case 2: return move_words<2>(word);
    case 4: return move_words<4>(word);
    case 8: return move_words<8>(word);
    default: return move_words<16>(word);
  }
}

}  // namespace dunnage::pack::cuda
