// What the plans of fused launches have in common: nests as fused kernels take them, and the launch
// of up to max_fused entries.
#pragma once

#include <algorithm>
#include <memory>
#include <span>

#include "pack/cuda/launch.hpp"

namespace dunnage::pack::cuda {

/// Whether a fused kernel can walk a part by words of that size.
inline bool fits_fused(const Part& part, std::uint8_t word) {
  return part.nest && part.geometry.indexed < 0 &&
         part.geometry.levels.size() + (part.geometry.block > word ? 1 : 0) <= fused_loops &&
         part.size / word <= most_items;
}

/// A part from its byte `begin` on. `user` is the address of the part's first byte.
inline FusedNest fused_nest(const Part& part, std::uintptr_t user, std::int64_t begin, std::uint8_t word) {
  const auto& g = part.geometry;
  FusedNest nest;
  nest.user = reinterpret_cast<char*>(user);
  nest.first = static_cast<std::uint32_t>(begin / word);
  int loops = 0;
  const auto add = [&](std::int64_t count, std::int64_t stride, Divisor<std::uint32_t> by) {
    if (loops + 1 < fused_loops) nest.count[loops] = static_cast<std::uint32_t>(count), nest.by[loops] = by;
    nest.stride[loops++] = stride;
  };
  if (g.block > word) add(g.block / word, word, Divisor<std::uint32_t>(static_cast<std::uint32_t>(g.block / word)));
  for (const auto& level : g.levels) add(level.count, level.stride, level.by);
  return nest;
}

/// One launch of up to max_fused pieces, the largest first. `entry_of(piece)` is an entry. A thread
/// moves one word if there are up to `most_single` words, because its read then begins earlier. Of
/// more words it moves fused_words, so that more reads are under way.
template <template <int> class Parameters, class Piece, class EntryOf>
Launch fused_launch(KernelId id, std::uint64_t most_single, std::span<const Piece> pieces, EntryOf&& entry_of) {
  Launch launch;
  launch.id = id;
  const auto make = [&]<int N>(std::integral_constant<int, N>) {
    auto& all = launch.parameters.template emplace<std::unique_ptr<Parameters<N>>>();
    all = std::make_unique<Parameters<N>>();
    auto& fused = fused_of(*all);
    std::uint64_t words = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto& entry = fused.entry[i] = entry_of(pieces[i]);
      words += entry.words;
      launch.bytes += std::int64_t{entry.words} * entry.word;
    }
    launch.id.thread_words = words <= most_single ? 1 : fused_words;
    const auto block_words = std::uint64_t{block_threads} * launch.id.thread_words;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      launch.blocks += (fused.entry[i].words + block_words - 1) / block_words;
      fused.end_block[i] = static_cast<std::uint32_t>(launch.blocks);
    }
    std::fill(fused.end_block + pieces.size(), fused.end_block + N, static_cast<std::uint32_t>(launch.blocks));
  };
  launch.id.group = pieces.size() <= 8 ? 3 : pieces.size() <= 32 ? 5 : pieces.size() <= 64 ? 6 : 7;
  switch (launch.id.group) {
    case 3: make(std::integral_constant<int, 8>()); break;
    case 5: make(std::integral_constant<int, 32>()); break;
    case 6: make(std::integral_constant<int, 64>()); break;
    default: make(std::integral_constant<int, 128>()); break;
  }
  return launch;
}

}  // namespace dunnage::pack::cuda
