// Whether to store past the caches, learnt while the work goes on.
//
// Stores past the caches are up to twice as fast where the destination is in memory, and half as fast where it is in
// some cache. Nothing tells which it is: sizes do not (a last-level cache may hold hundreds of megabytes, and be
// shared), and no instruction asks. So large work is done in pieces, both kinds are tried on the first few, and the
// rest goes with the faster, which is questioned again from time to time.
#pragma once

namespace dunnage::pack {

class StoreChoice {
 public:
  /// Whether the next piece should be streamed.
  bool next() {
    const auto i = pieces_++;
    if (i < trials) return i % 2 != 0;
    const bool better = cost_[1] < clearly * cost_[0];
    return i % again == 0 ? !better : better;
  }

  /// What a piece took, per byte.
  void learn(bool streamed, double cost) {
    auto& known = cost_[streamed];
    // The first piece of each kind also pays for the first touch of its pages.
    known = known == unknown || (pieces_ <= trials && cost < known) ? cost : 0.5 * (known + cost);
  }

 private:
  // Streaming also takes the destination out of the caches, which the next reader pays for.
  static constexpr double clearly = 0.95;
  static constexpr long trials = 4, again = 64;
  static constexpr double unknown = 1e300;
  long pieces_ = 0;
  double cost_[2] = {unknown, unknown};
};

}  // namespace dunnage::pack
