#include "memory/budget.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::memory {
namespace {

TEST(Budget, RefusesWhatExceedsTheLimit) {
  Budget budget;
  auto first = budget.take(60, 100);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.take(41, 100));
  {
    const auto second = budget.take(40, 100);
    EXPECT_TRUE(second);
    EXPECT_EQ(budget.used(), 100u);
    EXPECT_FALSE(budget.take(1, 100));
  }
  EXPECT_EQ(budget.used(), 60u);
  first = {};
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Budget, TakesAnythingIfNothingElseIsInUse) {
  Budget budget;
  const auto large = budget.take(1000, 100);
  EXPECT_TRUE(large);
  EXPECT_FALSE(budget.take(1, 100));
  EXPECT_FALSE(budget.take(~std::uint64_t{0}, 100));
}

TEST(Budget, Threads) {
  Budget budget;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) {
        const auto part = budget.take(40, 100);
        EXPECT_LE(budget.used(), 100u);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace dunnage::memory
