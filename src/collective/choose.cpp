#include "collective/choose.hpp"

namespace dunnage::collective {

Choice choose_bcast(const Bcast& b, const LogGP& network) {
  Choice best;
  bool first = true;
  for (const auto a : all_bcast_algorithms) {
    // The closed ring does what the opened one does, and more.
    if (!possible(a, b) || a == BcastAlgorithm::scatter_ring) continue;
    Bcast one = b;
    one.segment = best_segment(a, b, network);
    const Choice choice{a, one.segment, cost(a, one, network)};
    if (first || choice.seconds < best.seconds) best = choice;
    first = false;
  }
  return best;
}

}  // namespace dunnage::collective
