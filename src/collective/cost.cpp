#include "collective/cost.hpp"

#include <algorithm>
#include <cmath>

namespace dunnage::collective {
namespace {

int rounds(std::int32_t ranks) { return std::bit_width(static_cast<std::uint32_t>(ranks - 1)); }

/// Of those in segments: rounds that the first segment needs to the last rank, and how often a rank sends each segment.
struct Pipeline {
  double depth;
  int sends;
};
Pipeline pipeline(BcastAlgorithm a, std::int32_t ranks) {
  switch (a) {
    case BcastAlgorithm::chain: return {static_cast<double>(ranks - 1), 1};
    case BcastAlgorithm::binary_tree: return {static_cast<double>(std::bit_width(static_cast<std::uint32_t>(ranks)) - 1), ranks > 2 ? 2 : 1};
    default: return {static_cast<double>(rounds(ranks)), 1};
  }
}

}  // namespace

double cost(BcastAlgorithm a, const Bcast& b, const LogGP& network) {
  if (b.ranks < 2 || b.bytes <= 0) return 0;
  const double n = static_cast<double>(b.bytes) * network.byte_time, most = n * (b.ranks - 1) / b.ranks;
  const double message = network.latency + 2 * network.overhead;  // of no bytes
  const int l = rounds(b.ranks);
  if (in_segments(a)) {
    const auto size = b.segment > 0 ? std::min(b.segment, b.bytes) : b.bytes;
    const auto [depth, sends] = pipeline(a, b.ranks);
    const auto more = static_cast<double>((b.bytes - 1) / size);
    const double one = static_cast<double>(size) * network.byte_time;
    return depth * (message + sends * one) + more * ((1 + sends) * network.overhead + sends * one);
  }
  switch (a) {
    case BcastAlgorithm::binomial: return l * (message + n);
    case BcastAlgorithm::scatter_doubling: return 2 * l * message + 2 * most;
    default: return (l + b.ranks - 1) * message + 2 * most;
  }
}

std::int64_t best_segment(BcastAlgorithm a, const Bcast& b, const LogGP& network) {
  if (!in_segments(a) || b.ranks < 2 || b.bytes <= 0) return 0;
  // Of (depth - 1) sends s byte_time + (n / s) (1 + sends) overhead, what depends on s, both parts are equal where it is least.
  const auto [depth, sends] = pipeline(a, b.ranks);
  if (depth <= 1 || network.byte_time <= 0) return b.bytes;
  const double s = std::sqrt(static_cast<double>(b.bytes) * (1 + sends) * network.overhead / ((depth - 1) * sends * network.byte_time));
  constexpr double line = 64, least = 1024;  // whatever a model says of shorter ones
  return std::min(b.bytes, static_cast<std::int64_t>(std::max(least, std::ceil(std::min(s, 1e15) / line) * line)));
}

}  // namespace dunnage::collective
