// The kernels' work on a nest of loops: each thread moves a group of words that stand side by side in the packed stream,
// whatever the shape of the nest, so that every shape is balanced and the packed side is always coalesced.
//
// All functions here are what one thread does; kernels.cu runs them on the device, emulated.cpp on the host.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// A range of the stream in words: word `first` stands at `packed`.
template <class Index>
struct Dense {
  Nest<Index> nest;  // of words: those of a block are its innermost loop
  char* packed = nullptr;
  Index first = 0;
  Index words = 0;  // to move
  Index lead = 0;   // words between the last boundary of a group and `packed`
};

/// The words of a group that stand within the range: all V but for the first and the last group.
template <int V, class Index>
struct Group {
  Index word;      // the first, counted from `packed`; wraps where it would stand before
  int begin, end;  // of 0 to V
  DUNNAGE_HD Group(const Dense<Index>& a, Index g) : word(static_cast<Index>(g * V - a.lead)), begin(0), end(V) {
    const Index at = g * V;
    if (at < a.lead) begin = static_cast<int>(a.lead - at);
    if (at >= a.lead + a.words)
      end = begin;
    else if (at + V > a.lead + a.words)
      end = static_cast<int>(a.lead + a.words - at);
  }
  DUNNAGE_HD bool whole() const { return begin == 0 && end == V; }
};

/// Calls f(v, offset) for words v of [begin, end) of a group, with offsets in the user's buffer.
template <int V, int D, bool T, class Index, class F>
DUNNAGE_HD void each_word(const Dense<Index>& a, const Group<V, Index>& g, F&& f) {
  const auto& nest = a.nest;
  Left<Index> left;
  if (V > 1 && g.whole()) {
    auto offset = locate<D, T>(nest, static_cast<Index>(a.first + g.word), left);
    const auto step = nest.loop[0].stride;
    if (left.items >= V && !(T && nest.indexed == 0)) {
      DUNNAGE_UNROLL
      for (int v = 0; v < V; ++v) f(v, offset + v * step);
      return;
    }
    // From word to word, and from the end of one run to the beginning of the next, without dividing.
    const auto turn = D == 1 ? 0 : nest.loop[1].stride - static_cast<std::int64_t>(nest.loop[0].count - 1) * step;
    const bool listed = T && nest.indexed == 0;
    const auto entry = [&] { return nest.table[nest.loop[0].count - left.items] * nest.table_unit; };
    auto run = listed ? offset - entry() : 0;
    DUNNAGE_UNROLL
    for (int v = 0; v < V; ++v) {
      f(v, offset);
      if (v + 1 == V) break;
      if (--left.items != 0) {
        offset = listed ? run + entry() : offset + step;
      } else if (!T && D != 1 && --left.runs != 0) {
        offset += turn;
        left.items = nest.loop[0].count;
      } else {
        offset = locate<D, T>(nest, static_cast<Index>(a.first + g.word + v + 1), left);
        if (listed) run = offset - entry();
      }
    }
    return;
  }
  DUNNAGE_UNROLL
  for (int v = 0; v < V; ++v)
    if (v >= g.begin && v < g.end) f(v, locate<D, T>(nest, static_cast<Index>(a.first + g.word + v), left));
}

/// Packs group g.
template <int W, int V, int D, bool T, class Index>
DUNNAGE_HD void pack_dense(const Dense<Index>& a, Index g) {
  const Group<V, Index> group(a, g);
  Word<W> words[V]{};
  each_word<V, D, T>(a, group, [&](int v, std::int64_t offset) { words[v] = load<W>(a.nest.user + offset); });
  auto* to = a.packed + static_cast<std::int64_t>(group.word) * W;
  if (group.whole()) return store<W * V>(to, join<W, V>(words));
  DUNNAGE_UNROLL
  for (int v = 0; v < V; ++v)
    if (v >= group.begin && v < group.end) store<W>(a.packed + static_cast<std::int64_t>(static_cast<Index>(group.word + v)) * W, words[v]);
}

/// Unpacks group g.
template <int W, int V, int D, bool T, class Index>
DUNNAGE_HD void unpack_dense(const Dense<Index>& a, Index g) {
  const Group<V, Index> group(a, g);
  Word<W> words[V]{};
  if (group.whole()) {
    split<W, V>(load<W * V>(a.packed + static_cast<std::int64_t>(group.word) * W), words);
  } else {
    DUNNAGE_UNROLL
    for (int v = 0; v < V; ++v)
      if (v >= group.begin && v < group.end) words[v] = load<W>(a.packed + static_cast<std::int64_t>(static_cast<Index>(group.word + v)) * W);
  }
  each_word<V, D, T>(a, group, [&](int v, std::int64_t offset) { store<W>(a.nest.user + offset, words[v]); });
}

}  // namespace dunnage::pack::cuda
