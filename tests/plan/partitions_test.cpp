#include "plan/partitions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace dunnage::plan;

TEST(Partitions, PieceForEachPartition) {
  const auto pieces = cut(4, 10, 100);
  EXPECT_EQ(pieces.count(), 4);
  EXPECT_EQ(pieces.total(), 40);
  EXPECT_EQ(pieces.bytes_of(2), (Span{20, 30}));
}

TEST(Partitions, NeighboursGoTogetherIfThereAreTooMany) {
  const auto pieces = cut(10, 3, 4);
  EXPECT_EQ(pieces.together, 3);
  EXPECT_EQ(pieces.count(), 4);
  EXPECT_EQ(pieces.partitions_of(3), (Span{9, 10}));
  EXPECT_EQ(pieces.bytes_of(3), (Span{27, 30}));
  EXPECT_EQ(pieces.of(8), 2);
}

TEST(Partitions, NoPartitions) {
  const auto pieces = cut(0, 8, 4);
  EXPECT_EQ(pieces.count(), 0);
  Arrivals arrivals(pieces, 0, 8);
  arrivals.start();
  EXPECT_TRUE(arrivals.all());
}

TEST(Partitions, EmptyOnesComeWithTheLastPiece) {
  Arrivals arrivals(cut(2, 0, 4), 3, 0);
  arrivals.start();
  EXPECT_FALSE(arrivals.has(0));
  arrivals.come(1, [](std::int64_t) { ADD_FAILURE(); });
  EXPECT_FALSE(arrivals.has(0));
  arrivals.come(0, [](std::int64_t) { ADD_FAILURE(); });
  EXPECT_TRUE(arrivals.has(2));
}

/// Byte by byte, in random orders: also for messages that are shorter or longer than the receiver's
/// buffer.
TEST(Partitions, AgreeWithCountingBytes) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 3000; ++round) {
    const auto pieces = cut(below(12), below(9), 1 + below(14));
    const auto partitions = below(12), bytes = below(9);
    Arrivals arrivals(pieces, partitions, bytes);
    for (int start = 0; start < 2; ++start) {
      arrivals.start();
      std::vector<bool> there(static_cast<std::size_t>(std::max(pieces.total(), partitions * bytes)));
      const auto has = [&](std::int64_t p) {
        return std::all_of(there.begin() + p * bytes, there.begin() + (p + 1) * bytes, [](bool one) { return one; });
      };
      std::vector<std::int64_t> order(static_cast<std::size_t>(pieces.count()));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::vector<std::int64_t> told;
      for (const auto piece : order) {
        ASSERT_FALSE(arrivals.all());
        const auto [begin, end] = pieces.bytes_of(piece);
        std::fill(there.begin() + begin, there.begin() + end, true);
        arrivals.come(piece, [&](std::int64_t p) { told.push_back(p); });
        for (std::int64_t p = 0; p < partitions; ++p) {
          const bool by_itself = bytes > 0 && (p + 1) * bytes <= pieces.total();
          ASSERT_EQ(arrivals.has(p), by_itself ? has(p) : arrivals.all());
          ASSERT_EQ(std::count(told.begin(), told.end(), p), by_itself && has(p));
          // Whoever waits for a partition need not look at other pieces.
          const auto [first, last] = arrivals.pieces_of(p);
          const bool brings = begin < (p + 1) * bytes && end > p * bytes;
          ASSERT_TRUE(!brings || (first <= piece && piece < last));
        }
      }
      ASSERT_TRUE(arrivals.all());
    }
  }
}

}  // namespace
