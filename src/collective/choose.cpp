#include "collective/choose.hpp"

#include <algorithm>

namespace dunnage::collective {

std::vector<Choice> bcast_choices(const Bcast& b, const LogGP& network) {
  std::vector<Choice> choices;
  for (const auto a : all_bcast_algorithms) {
    if (!possible(a, b) || a == BcastAlgorithm::scatter_ring) continue;
    Bcast one = b;
    one.segment = best_segment(a, b, network);
    choices.push_back({a, one.segment, cost(a, one, network)});
  }
  std::ranges::stable_sort(choices, {}, &Choice::seconds);
  return choices;
}

Choice choose_bcast(const Bcast& b, const LogGP& network) { return bcast_choices(b, network).front(); }

}  // namespace dunnage::collective
