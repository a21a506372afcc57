// The formulas against the simulation of every message.
#include "collective/cost.hpp"

#include <gtest/gtest.h>

#include "bcast_simulated/simulate.hpp"

namespace dunnage::collective {
namespace {

// Latencies that overlap make the simulation faster for short messages.
TEST(Cost, IsNearWhatTheSimulationSays) {
  const LogGP model{2e-6, 3e-7, 1e-10};
  const bench::Network network{{}, model.latency, model.byte_time, model.overhead, std::int64_t{1} << 40};
  for (const auto a : all_bcast_algorithms)
    for (const std::int32_t ranks : {8, 16, 33, 64, 129})
      for (const std::int64_t bytes : {1000, 65536, 1 << 20, 1 << 24}) {
        Bcast b{ranks, 0, bytes, 0};
        if (!possible(a, b)) continue;
        b.segment = best_segment(a, b, model);
        const auto simulated =
            bench::simulate(network, ranks, [&](std::int32_t rank) { return bcast(a, b, rank); }).seconds;
        const auto predicted = cost(a, b, model);
        EXPECT_LT(predicted, 1.7 * simulated) << text(a) << " " << ranks << " " << bytes << " " << b.segment;
        EXPECT_GT(predicted, simulated / 1.7) << text(a) << " " << ranks << " " << bytes << " " << b.segment;
      }
}

TEST(Cost, NoSegmentIsMuchBetterThanTheBest) {
  const LogGP model{2e-6, 3e-7, 1e-10};
  for (const auto a : all_bcast_algorithms) {
    if (!in_segments(a)) continue;
    for (const std::int32_t ranks : {3, 16, 129})
      for (const std::int64_t bytes : {1000, 1 << 20, 1 << 24}) {
        Bcast b{ranks, 0, bytes, 0};
        b.segment = best_segment(a, b, model);
        EXPECT_EQ(b.segment == bytes || b.segment % 64 == 0, true);
        const auto best = cost(a, b, model);
        for (std::int64_t s = 64; s < 2 * bytes; s *= 2) {
          b.segment = std::min(s, bytes);
          EXPECT_GT(cost(a, b, model), 0.95 * best) << text(a) << " " << ranks << " " << bytes << ", segments of " << s;
        }
      }
  }
  EXPECT_EQ(best_segment(BcastAlgorithm::binomial, {8, 0, 1000, 0}, model), 0);
  EXPECT_EQ(best_segment(BcastAlgorithm::chain, {2, 0, 1000, 0}, model), 1000);
}

}  // namespace
}  // namespace dunnage::collective
