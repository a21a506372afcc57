// Times that can be worked out by hand.
#include "bcast_simulated/simulate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "collective/bcast.hpp"

namespace bench {
namespace {

using namespace dunnage::collective;

constexpr double us = 1e-6, per_byte = 1e-10;  // 10 GB/s
const Network flat{{}, 2 * us, per_byte, 0, std::int64_t{1} << 40};

Simulated timed(const Network& network, BcastAlgorithm a, const Bcast& b) {
  return simulate(network, b.ranks, [&](std::int32_t rank) { return bcast(a, b, rank); });
}
double rounds(std::int32_t ranks) { return std::ceil(std::log2(ranks)); }

TEST(Simulate, Binomial) {
  // Its last message is the root's last, or that of the deepest leaf; with one port the root's
  // children go one after the other.
  for (const std::int32_t ranks : {2, 4, 16, 64, 128})
    for (const std::int64_t bytes : {1, 1000, 1000000}) {
      const auto t = timed(flat, BcastAlgorithm::binomial, {ranks, 0, bytes, 0});
      EXPECT_NEAR(t.seconds, rounds(ranks) * (2 * us + static_cast<double>(bytes) * per_byte), 1e-12 + 1e-9 * t.seconds)
          << ranks << " " << bytes;
      EXPECT_EQ(t.messages, ranks - 1);
      EXPECT_EQ(t.bytes, (ranks - 1) * bytes);
    }
}

TEST(Simulate, Chain) {
  // Each further rank adds one segment's way, each further segment one segment's time.
  for (const std::int32_t ranks : {2, 5, 50})
    for (const std::int64_t segments : {1, 7, 40}) {
      const auto t = timed(flat, BcastAlgorithm::chain, {ranks, 0, segments * 10000, 10000});
      const double way = 2 * us + 10000 * per_byte;
      const double least = (ranks - 1) * way + static_cast<double>(segments - 1) * 10000 * per_byte;
      EXPECT_GE(t.seconds, least - 1e-12) << ranks << " " << segments;
      EXPECT_LE(t.seconds, least + static_cast<double>(segments - 1) * 2 * us + 1e-12)
          << ranks << " " << segments;  // steps wait for both ends
    }
}

TEST(Simulate, ReceiversAreWaitedFor) {
  auto network = flat;
  network.eager = 0;
  // A message that asks first takes three latencies.
  EXPECT_NEAR(timed(network, BcastAlgorithm::binomial, {2, 0, 1000, 0}).seconds, 3 * 2 * us + 1000 * per_byte, 1e-12);
}

TEST(Simulate, LinksAreShared) {
  // 8 hosts of 4 ranks; every message between hosts goes by two links as fast as a port.
  Network network{{{4, 1 * us, per_byte}}, 2 * us, per_byte, 0, std::int64_t{1} << 40};
  const Bcast b{32, 0, 1 << 20, 0};
  const auto t = timed(network, BcastAlgorithm::scatter_open_ring, b);
  const auto alone = timed(flat, BcastAlgorithm::scatter_open_ring, b);
  EXPECT_LT(t.outside, t.bytes);
  EXPECT_EQ(alone.outside, 0);
  // All of the message must enter the host of each, and does: by a ring of ranks in order once from
  // the left, and by the scatter.
  EXPECT_GE(t.outside, 7 * b.bytes);
  // Links that are slower than ports hold everything up.
  network.levels[0].byte_time = 8 * per_byte;
  EXPECT_GT(timed(network, BcastAlgorithm::scatter_open_ring, b).seconds, 2 * t.seconds);
}

TEST(Simulate, OrderOfTheAlgorithms) {
  // Large messages among many: the whole message down a tree is worst, the circulant graph best;
  // the opened ring is no slower than the closed one.
  const Bcast whole{129, 0, 1 << 20, 0};
  const Bcast parts{129, 0, 1 << 20, 16 << 10};
  const auto binomial = timed(flat, BcastAlgorithm::binomial, whole).seconds,
             ring = timed(flat, BcastAlgorithm::scatter_ring, whole).seconds;
  const auto open = timed(flat, BcastAlgorithm::scatter_open_ring, whole).seconds,
             circulant = timed(flat, BcastAlgorithm::circulant, parts).seconds;
  EXPECT_LT(circulant, open);
  EXPECT_LE(open, ring);
  EXPECT_LT(ring, binomial);
}

TEST(Simulate, SchedulesThatDoNotFitAreFound) {
  const auto one = [](std::int32_t rank) {
    Schedule s;
    if (rank == 0) s.add(Transfer::Kind::send, 1, {0, 10});
    if (rank == 1) s.add(Transfer::Kind::receive, 0, {0, 11});
    s.end_step();
    return s;
  };
  EXPECT_THROW(simulate(flat, 2, one), std::logic_error);
  const auto other = [](std::int32_t rank) {
    Schedule s;
    if (rank == 1) s.add(Transfer::Kind::receive, 0, {0, 11});
    s.end_step();
    return s;
  };
  EXPECT_THROW(simulate(flat, 2, other), std::logic_error);
}

}  // namespace
}  // namespace bench
