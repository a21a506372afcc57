#include "collectives/busiest.hpp"

#include <gtest/gtest.h>

namespace bench::collectives {
namespace {

constexpr int ranks = 4;

TEST(Busiest, ARankOfAnAlltoallHasABlockForEachOther) {
  EXPECT_EQ(blocks_of_busiest([](int from, int to) { return unsigned(ranks * from + to); }, ranks), 3);
}

TEST(Busiest, TheRootCountsInAGather) {
  EXPECT_EQ(blocks_of_busiest([](int from, int to) { return to == 0 ? unsigned(from) : untouched; }, ranks), 3);
}

TEST(Busiest, OnePeerIsOneBlock) {
  const auto next = [](int from, int to) { return to == (from + 1) % ranks ? unsigned(from) : untouched; };
  EXPECT_EQ(blocks_of_busiest(next, ranks), 1);
}

TEST(Busiest, ARankAloneSendsNothing) {
  EXPECT_EQ(blocks_of_busiest([](int, int) { return 1u; }, 1), 0);
}

}  // namespace
}  // namespace bench::collectives
