#include "collective/cost.hpp"

#include <algorithm>
#include <cmath>

namespace dunnage::collective {
namespace {

int rounds(std::int32_t ranks) { return std::bit_width(static_cast<std::uint32_t>(ranks - 1)); }

/// For algorithms that send segments: the rounds until the last rank has the first segment, and how
/// often a rank sends each segment.
struct Pipeline {
  double depth;
  int sends;
};
Pipeline pipeline(BcastAlgorithm a, std::int32_t ranks) {
  switch (a) {
    case BcastAlgorithm::chain: return {static_cast<double>(ranks - 1), 1};
    case BcastAlgorithm::binary_tree: {
      const auto levels = std::bit_width(static_cast<std::uint32_t>(ranks)) - 1;
      return {static_cast<double>(levels), ranks > 2 ? 2 : 1};
    }
    default: return {static_cast<double>(rounds(ranks)), 1};
  }
}

}  // namespace

double cost(BcastAlgorithm a, const Bcast& b, const LogGP& network) {
  if (b.ranks < 2 || b.bytes <= 0) return 0;
  const double n = static_cast<double>(b.bytes) * network.byte_time, most = n * (b.ranks - 1) / b.ranks;
  const double message = network.latency + 2 * network.overhead;  // a message of no bytes
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
  // The part of the cost that depends on the segment's length s is (depth - 1) sends s byte_time +
  // (n / s) (1 + sends) overhead. It is least if both terms are equal.
  const auto [depth, sends] = pipeline(a, b.ranks);
  if (depth <= 1 || network.byte_time <= 0) return b.bytes;
  const double overheads = static_cast<double>(b.bytes) * (1 + sends) * network.overhead;
  const double s = std::sqrt(overheads / ((depth - 1) * sends * network.byte_time));
  constexpr double line = 64, least = 1024;  // no shorter segments, whatever the model predicts
  return std::min(b.bytes, static_cast<std::int64_t>(std::max(least, std::ceil(std::min(s, 1e15) / line) * line)));
}

}  // namespace dunnage::collective
