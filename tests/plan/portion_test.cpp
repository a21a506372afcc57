#include "plan/portion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace dunnage::plan {
namespace {

TEST(Portion, ClassesOfSizesEndAtPowersOfFour) {
  EXPECT_EQ(size_class(0), 0u);
  for (std::size_t one = 0; one + 1 < size_classes; ++one) {
    EXPECT_EQ(size_class(largest_of_class(one)), one);
    EXPECT_EQ(size_class(largest_of_class(one) + 1), one + 1);
  }
  EXPECT_EQ(largest_of_class(0), 64u);
  EXPECT_EQ(largest_of_class(size_classes - 2), 64u << 20);
  EXPECT_EQ(size_class(~std::uint64_t{0}), size_classes - 1);
}

TEST(PortionsByRank, RanksWithoutAPlaceShareOne) {
  PortionsByRank<4> portions;
  for (int rank : {7, 3, 11, 7, 0, 5, 5, 9, 3}) portions.of(rank).accelerate(10);
  std::uint64_t counted = 0;
  for (const auto& place : portions.places()) {
    EXPECT_NE(place.key, 5);
    EXPECT_NE(place.key, 9);
    counted += place.value.accelerated;
  }
  EXPECT_EQ(counted, 6u);
  EXPECT_EQ(portions.others.accelerated, 3u);
  EXPECT_EQ(portions.others.bytes, 30u);
  EXPECT_EQ(&portions.of(11), &portions.of(11));
}

TEST(PortionsByRank, ThreadsAgreeAboutPlaces) {
  constexpr int threads = 4, ranks = 40, rounds = 200;
  const auto portions = std::make_unique<PortionsByRank<32>>();
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&portions, t] {
      for (int i = 0; i < rounds * ranks; ++i) portions->of((i * 7 + t) % ranks).decline();
    });
  for (auto& thread : all) thread.join();
  std::vector<int> seen;
  for (const auto& place : portions->places()) {
    EXPECT_EQ(place.value.declined, std::uint64_t{threads} * rounds) << place.key;
    seen.push_back(place.key);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(portions->others.declined, std::uint64_t{threads} * rounds * (ranks - 32));
}

}  // namespace
}  // namespace dunnage::plan
