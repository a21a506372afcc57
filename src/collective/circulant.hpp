// Which block each rank receives and sends in each round of the round-optimal broadcast on a circulant graph: n blocks in n - 1 + ceil(log2 p) rounds.
// Source: J. L. Traeff, "Optimal Broadcast Schedules in Logarithmic Time with Applications to Broadcast, All-Broadcast, Reduction and
// All-Reduction", arXiv 2407.18004, section 2 (the receive schedule; a rank's send schedule is read off those of the ranks that it sends to, so that it takes O(log^2 p)).
#pragma once

#include <cstdint>
#include <vector>

namespace dunnage::collective {

class Circulant {
 public:
  /// p: ranks, 2 or more.
  explicit Circulant(std::int32_t p);
  /// ceil(log2 p), the phase's rounds.
  int rounds() const { return static_cast<int>(skips_.size()) - 1; }
  /// How far a rank sends in round k of a phase, and from how far it receives.
  std::int32_t skip(int k) const { return skips_[static_cast<std::size_t>(k)]; }
  /// The first block that a rank other than 0 receives.
  int base(std::int32_t rank) const;
  /// For each round of a phase the block, counted from the phase's first one; those below 0 belong to the phase before.
  std::vector<int> receives(std::int32_t rank) const;
  std::vector<int> sends(std::int32_t rank) const;

 private:
  struct Search;
  std::vector<std::int32_t> skips_;
};

}  // namespace dunnage::collective
