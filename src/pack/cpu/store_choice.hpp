// Learns during the work whether to store past the caches.
//
// Stores past the caches are up to twice as fast if the destination is in memory, and half as fast
// if it is in a cache. Nothing tells which case it is. Sizes do not: a last-level cache may hold
// hundreds of megabytes and may be shared. No instruction tells either. Large work is therefore
// done in pieces. The first pieces try both kinds of stores, and the rest uses the faster kind.
// From time to time a piece tries the other kind again.
#pragma once

namespace dunnage::pack {

class StoreChoice {
 public:
  /// Returns whether the next piece should be stored past the caches.
  bool next() {
    const auto i = pieces_++;
    if (i < trials) return i % 2 != 0;
    const bool better = cost_[1] < clearly * cost_[0];
    return i % again == 0 ? !better : better;
  }

  /// Tells what a piece cost, in any unit of time for each byte.
  void learn(bool streamed, double cost) {
    auto& known = cost_[streamed];
    // The first piece of each kind also pays for the first touch of its pages.
    known = known == unknown || (pieces_ <= trials && cost < known) ? cost : 0.5 * (known + cost);
  }

 private:
  // Stores past the caches also take the destination out of the caches, and the next reader pays
  // for that.
  static constexpr double clearly = 0.95;
  static constexpr long trials = 4, again = 64;
  static constexpr double unknown = 1e300;
  long pieces_ = 0;
  double cost_[2] = {unknown, unknown};
};

}  // namespace dunnage::pack
