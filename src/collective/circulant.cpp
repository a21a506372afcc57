#include "collective/circulant.hpp"

#include <bit>

#include "collective/build.hpp"

namespace dunnage::collective {

Circulant::Circulant(std::int32_t p)
    : skips_(static_cast<std::size_t>(std::bit_width(static_cast<std::uint32_t>(p - 1))) + 1) {
  skips_.back() = p;
  for (auto k = skips_.size() - 1; k > 0; --k) skips_[k - 1] = (skips_[k] + 1) / 2;
}

int Circulant::base(std::int32_t rank) const {
  for (int k = rounds() - 1; k >= 0; --k) {
    if (skip(k) == rank) return k;
    if (skip(k) < rank) rank -= skip(k);
  }
  return rounds();  // the root
}

/// A depth-first search for paths of different skips to ranks that come ever nearer to the goal.
/// The first skip of a path is the block. A skip that has served is removed from the list.
struct Circulant::Search {
  explicit Search(const Circulant& all)
      : all(all), q(all.rounds()), next(static_cast<std::size_t>(q) + 1), before(next.size()), found(next.size()) {
    for (int e = 0; e <= q; ++e) at(next, e) = e - 1, at(before, e) = e + 1;
  }
  static int& at(std::vector<int>& list, int e) { return list[static_cast<std::size_t>(e)]; }
  void remove(int e) {
    const int n = at(next, e), b = at(before, e);
    b > q ? first = n : at(next, b) = n;
    if (n >= 0) at(before, n) = b;
  }
  /// Searches from rank `from` with skips from `e` on, and fills the rounds from k on. A rank that
  /// is found must be below `end`. Returns the next round to be filled.
  int run(std::int64_t goal, std::int64_t from, std::int64_t end, int e, int k) {
    for (; e >= 0; e = at(next, e)) {
      const auto to = from + all.skip(e);
      if (k >= q || to > goal - all.skip(k) || to >= end) continue;
      if (to <= goal - all.skip(k + 1)) k = run(goal, to, end, e, k);
      if (k >= q || from > goal - all.skip(k + 1)) return k;
      end = to;
      if (to > goal - all.skip(k)) continue;
      at(found, k++) = e;
      remove(e);
    }
    return k;
  }

  const Circulant& all;
  const int q;
  int first = q;
  std::vector<int> next, before, found;
};

std::vector<int> Circulant::receives(std::int32_t rank) const {
  const int q = rounds();
  Search search(*this);
  const int b = base(rank);
  if (b != q) search.remove(b);
  const std::int64_t p = skips_.back();
  search.run(p + rank, 0, 2 * p, search.first, 0);
  search.found.resize(static_cast<std::size_t>(q));
  for (auto& block : search.found) block = block == q ? b : block - q;
  return search.found;
}

std::vector<int> Circulant::sends(std::int32_t rank) const {
  std::vector<int> blocks(static_cast<std::size_t>(rounds()));
  for (int k = 0; k < rounds(); ++k) {
    const auto to = (std::int64_t{rank} + skip(k)) % skips_.back();
    const auto round = static_cast<std::size_t>(k);
    blocks[round] = rank == 0 ? k : receives(static_cast<std::int32_t>(to))[round];
  }
  return blocks;
}

void build_circulant(Build& build) {
  const auto p = build.operation().ranks;
  const Circulant graph(p);
  const auto q = graph.rounds();
  const auto receives = graph.receives(build.self()), sends = graph.sends(build.self());
  const auto n = build.segments();
  // The first phase begins late, so that the last phase is whole.
  const auto late = (q - (n - 1) % q) % q;
  for (auto i = late; i < n - 1 + q + late; ++i) {
    const auto k = static_cast<int>(i % q);
    const auto phase = i / q * q - late;
    const auto block = [&](const std::vector<int>& blocks) {
      return build.segment(std::min(blocks[static_cast<std::size_t>(k)] + phase, n - 1));
    };
    const auto to = static_cast<std::int32_t>((std::int64_t{build.self()} + graph.skip(k)) % p);
    const auto from = (build.self() - graph.skip(k) + p) % p;
    if (build.self() != 0) build.receive(from, block(receives));
    if (to != 0) build.send(to, block(sends));
    build.end_step();
  }
}

}  // namespace dunnage::collective
