// The kernels for a nest of loops. Each thread moves a group of words that are neighbours in the
// packed stream. So the work is balanced for every shape, and accesses to the packed side are
// always coalesced.
//
// Each function is the work of one thread. kernels.cu runs the functions on the device,
// emulated.cpp on the host.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// A range of the packed stream, counted in words. Word `first` is at the address `packed`.
template <class Index>
struct Dense {
  Nest<Index> nest;  // its items are words; the words of a block are the innermost loop
  char* packed = nullptr;
  Index first = 0;
  Index words = 0;  // how many words to move
  Index lead = 0;   // words from the last group boundary to `packed`
};

/// The words of a group that are within the range: all V, except in the first and the last group.
template <int V, class Index>
struct Group {
  Index word;      // the first word, counted from `packed`; wraps around if it is before `packed`
  int begin, end;  // the words of the group in the range, from 0 to V
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

/// Calls f(v, offset) for the words v of a group that are in the range. `offset` is in bytes of the
/// user's buffer.
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
    // Steps from word to word, and from the end of a run to the next run, without a division.
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
    if (v >= group.begin && v < group.end)
      store<W>(a.packed + static_cast<std::int64_t>(static_cast<Index>(group.word + v)) * W, words[v]);
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
      if (v >= group.begin && v < group.end)
        words[v] = load<W>(a.packed + static_cast<std::int64_t>(static_cast<Index>(group.word + v)) * W);
  }
  each_word<V, D, T>(a, group, [&](int v, std::int64_t offset) { store<W>(a.nest.user + offset, words[v]); });
}

}  // namespace dunnage::pack::cuda
