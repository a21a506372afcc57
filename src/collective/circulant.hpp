// The blocks that each rank receives and sends in each round of the round-optimal broadcast on a
// circulant graph. It takes n - 1 + ceil(log2 p) rounds for n blocks and p ranks.
//
// Source: J. L. Traeff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to
// Broadcast, All-Broadcast, Reduction and All-Reduction", arXiv 2407.18004, section 2, which
// computes the receive schedule. A rank's send schedule is taken from the receive schedules of the
// ranks that it sends to, so it takes O(log^2 p) time.
#pragma once

#include <cstdint>
#include <vector>

namespace dunnage::collective {

class Circulant {
 public:
  /// `p` is the number of ranks, 2 or more.
  explicit Circulant(std::int32_t p);
  /// Returns ceil(log2 p), the number of rounds in a phase.
  int rounds() const { return static_cast<int>(skips_.size()) - 1; }
  /// Returns how far up a rank sends in round k of a phase. It receives from as far down.
  std::int32_t skip(int k) const { return skips_[static_cast<std::size_t>(k)]; }
  /// Returns the first block that a rank other than 0 receives.
  int base(std::int32_t rank) const;
  /// Returns the block that a rank receives in each round of a phase. Blocks are counted from the
  /// first block of the phase. A negative number belongs to the phase before.
  std::vector<int> receives(std::int32_t rank) const;
  /// Returns the block that a rank sends in each round of a phase, counted in the same way as in
  /// receives().
  std::vector<int> sends(std::int32_t rank) const;

 private:
  struct Search;
  std::vector<std::int32_t> skips_;
};

}  // namespace dunnage::collective
