// A binomial scatter, and what gathers the chunks at all ranks.
//
// Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
// operations in MPICH", IJHPCA 2005, section 4. The opened ring is that of H. Zhou, V. Marjanovic,
// C. Niethammer, J. Gracia, "A Bandwidth-saving Optimization for MPI Broadcast Collective
// Operation", arXiv 1603.06809. Here ranks that only send are also held back, because they would
// flood their receivers.
#include <algorithm>

#include "collective/build.hpp"

namespace dunnage::collective {
namespace {

constexpr std::int64_t line = 64;
/// If a rank no longer receives, one of this many sends is synchronous.
constexpr int credit = 4;

void scatter(Build& build) {
  const auto& b = build.operation();
  down_tree(build, [&](std::int32_t rank) { return chunks(b, rank, rank + subtree(b.ranks, rank)); });
}

}  // namespace

Range chunk(const Bcast& b, std::int32_t i) {
  const auto unit = b.bytes >= line * b.ranks ? line : 1;
  const auto units = (b.bytes + unit - 1) / unit;
  const auto begin_of = [&](std::int64_t k) {
    return std::min(b.bytes, units / b.ranks * k * unit + std::min(units % b.ranks, k) * unit);
  };
  return {begin_of(i), begin_of(std::int64_t{i} + 1)};
}

void build_scatter_ring(Build& build, bool open) {
  scatter(build);
  const auto& b = build.operation();
  const auto p = b.ranks, r = build.self(), right = (r + 1) % p, left = (r + p - 1) % p;
  // The last steps of a ring bring what the scatter has already brought.
  const auto receives = open ? p - subtree(p, r) : p - 1, sends = open ? p - subtree(p, right) : p - 1;
  int alone = 0;
  for (std::int32_t i = 1; i < p; ++i) {
    const bool only_sends = i <= sends && i > receives;
    if (i <= receives) build.receive(left, chunk(b, (r - i + p) % p));
    if (i <= sends) build.send(right, chunk(b, (r - i + 1 + p) % p), only_sends && ++alone % credit == 0);
    build.end_step();
  }
}

void build_scatter_doubling(Build& build) {
  scatter(build);
  const auto& b = build.operation();
  const auto r = build.self();
  // Whether the scatter has brought `rank` the chunks of the `n` ranks from `first` on.
  const auto has = [&](std::int32_t rank, std::int32_t first, std::int32_t n) {
    return rank <= first && first + n <= rank + subtree(b.ranks, rank);
  };
  for (std::int32_t n = 1; n < b.ranks; n *= 2) {
    const auto other = r ^ n, mine = r & -n, theirs = other & -n;
    if (!has(r, theirs, n)) build.receive(other, chunks(b, theirs, theirs + n));
    if (!has(other, mine, n)) build.send(other, chunks(b, mine, mine + n));
    build.end_step();
  }
}

}  // namespace dunnage::collective
