#include "collective/readers.hpp"

#include <algorithm>

namespace dunnage::collective {

Readers readers(std::span<const std::uint64_t> device, std::uint32_t root, std::int64_t bytes, const LogGP& link) {
  Readers all;
  all.source.assign(device.size(), static_cast<std::uint16_t>(root));
  const auto here = device[root];
  if (here == 0) return all;

  std::vector<std::uint32_t> chain{root};  // the first process on each GPU
  std::int32_t through_link = 0;           // processes that would read over the root's link
  bool shared = false;                     // whether another GPU has several processes
  auto chained = all.source;
  for (std::uint32_t p = 0; p < device.size(); ++p) {
    if (device[p] == here || device[p] == 0) continue;
    ++through_link;
    const auto first = std::find_if(chain.begin(), chain.end(), [&](auto q) { return device[q] == device[p]; });
    if (first != chain.end()) {
      chained[p] = static_cast<std::uint16_t>(*first);
      shared = true;
    } else {
      chained[p] = static_cast<std::uint16_t>(chain.back());
      chain.push_back(p);
    }
  }
  if (through_link < 2) return all;
  constexpr double least_gain = 1.05;
  Bcast along{static_cast<std::int32_t>(chain.size()) + shared, 0, bytes, 0};
  along.segment = best_segment(BcastAlgorithm::chain, along, link);
  const double direct = link.latency + 2 * link.overhead + through_link * static_cast<double>(bytes) * link.byte_time;
  if (cost(BcastAlgorithm::chain, along, link) * least_gain > direct) return all;
  return {std::move(chained), along.segment};
}

}  // namespace dunnage::collective
