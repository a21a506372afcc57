// For functions that make schedules: steps in ranks relative to the root.
#pragma once

#include <utility>

#include "collective/bcast.hpp"

namespace dunnage::collective {

class Build {
 public:
  Build(const Bcast& b, std::int32_t rank) : b_(b), self_((rank - b.root + b.ranks) % b.ranks) {}
  std::int32_t self() const { return self_; }
  const Bcast& operation() const { return b_; }
  void send(std::int32_t to, Range range, bool synchronous = false) {
    made_.add(synchronous ? Transfer::Kind::synchronous_send : Transfer::Kind::send, rank_of(to), range);
  }
  void receive(std::int32_t from, Range range) { made_.add(Transfer::Kind::receive, rank_of(from), range); }
  void end_step() { made_.end_step(); }
  Schedule done() && { return std::move(made_); }

  /// Returns the number of segments of the message.
  std::int64_t segments() const { return b_.segment > 0 ? (b_.bytes + b_.segment - 1) / b_.segment : 1; }
  /// Returns segment `i` of the message. The range is empty if there is no such segment.
  Range segment(std::int64_t i) const {
    if (i < 0 || i >= segments()) return {};
    const auto size = b_.segment > 0 ? b_.segment : b_.bytes;
    return {i * size, i + 1 < segments() ? (i + 1) * size : b_.bytes};
  }

 private:
  std::int32_t rank_of(std::int32_t relative) const {
    return static_cast<std::int32_t>((std::int64_t{relative} + b_.root) % b_.ranks);
  }
  const Bcast b_;
  const std::int32_t self_;
  Schedule made_;
};

/// Sends down a binomial tree. Every rank receives range_of(itself) and then sends range_of(child)
/// to each child. The largest subtree comes first, because its data has the longest way.
template <class RangeOf>
void down_tree(Build& build, RangeOf&& range_of) {
  const auto ranks = build.operation().ranks, r = build.self();
  const auto low = r == 0 ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(ranks))) : r & -r;
  if (r != 0) {
    build.receive(r - low, range_of(r));
    build.end_step();
  }
  for (auto step = low / 2; step > 0; step /= 2) {
    if (step >= ranks - r) continue;
    build.send(r + step, range_of(r + step));
    build.end_step();
  }
}

void build_binomial(Build& build);
void build_scatter_ring(Build& build, bool open);
void build_scatter_doubling(Build& build);
void build_chain(Build& build);
void build_binary_tree(Build& build);
void build_circulant(Build& build);

}  // namespace dunnage::collective
