// The kernels' work on several nests in one launch: blocks of threads are dealt to the entries one after the other.
#pragma once

#include "pack/cuda/dense.hpp"

namespace dunnage::pack::cuda {

/// Threads of a block.
inline constexpr std::uint32_t block_threads = 256;

inline constexpr int max_fused = 64;  // entries, so that all of them fit a kernel's parameters

struct FusedEntry {
  std::uint32_t word = 1;       // bytes
  std::uint32_t end_block = 0;  // the first block of the next entry
  Dense<std::uint32_t> dense;
};

/// Room for N entries: all of it travels with every launch.
template <int N>
struct Fused {
  std::int32_t count = 0;
  FusedEntry entry[N];
};

/// The entry of a block, and the number of the block within it.
template <int N>
DUNNAGE_HD const FusedEntry& fused_entry(const Fused<N>& f, std::uint32_t& block) {
  int low = 0, high = f.count - 1;  // in [low, high]
  while (low < high) {
    const int middle = (low + high) / 2;
    if (block < f.entry[middle].end_block)
      high = middle;
    else
      low = middle + 1;
  }
  if (low > 0) block -= f.entry[low - 1].end_block;
  return f.entry[low];
}

/// Words of a group, by the word's size. As for the kernels of one nest.
DUNNAGE_HD constexpr int fused_group(bool pack, int word) { return word <= 2 ? 4 : pack && word <= 8 ? 2 : 1; }

template <bool Pack, int N>
DUNNAGE_HD void run_fused(const Fused<N>& f, std::uint32_t block, std::uint32_t thread) {
  const auto& entry = fused_entry(f, block);
  const auto g = block * block_threads + thread;
  switch (entry.word) {
    case 1: Pack ? pack_dense<1, 4, 0, true>(entry.dense, g) : unpack_dense<1, 4, 0, true>(entry.dense, g); break;
    case 2: Pack ? pack_dense<2, 4, 0, true>(entry.dense, g) : unpack_dense<2, 4, 0, true>(entry.dense, g); break;
    case 4: Pack ? pack_dense<4, 2, 0, true>(entry.dense, g) : unpack_dense<4, 1, 0, true>(entry.dense, g); break;
    case 8: Pack ? pack_dense<8, 2, 0, true>(entry.dense, g) : unpack_dense<8, 1, 0, true>(entry.dense, g); break;
    default: Pack ? pack_dense<16, 1, 0, true>(entry.dense, g) : unpack_dense<16, 1, 0, true>(entry.dense, g); break;
  }
}

}  // namespace dunnage::pack::cuda
