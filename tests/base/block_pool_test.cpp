#include "base/block_pool.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <random>
#include <set>

namespace {

using dunnage::base::BlockPool;

TEST(BlockPool, NumbersComeAgainLate) {
  BlockPool pool(1, 10);
  EXPECT_EQ(pool.take(3), 1);
  EXPECT_EQ(pool.take(2), 4);
  pool.give_back(1);
  EXPECT_EQ(pool.take(3), 6);
  EXPECT_EQ(pool.take(3), 1);
  EXPECT_EQ(pool.take(2), std::nullopt);
  EXPECT_EQ(pool.take(1), 9);
}

TEST(BlockPool, NoNumberHasTwoUsers) {
  constexpr int end = 60;
  std::mt19937 random(3);
  BlockPool pool(0, end);
  std::set<int> taken;
  std::map<int, int> blocks;
  for (int round = 0; round < 20000; ++round) {
    const int count = 1 + static_cast<int>(random() % 6);
    if (random() % 2 != 0 && !blocks.empty()) {
      const auto block = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random() % blocks.size()));
      for (int n = 0; n < block->second; ++n) taken.erase(block->first + n);
      pool.give_back(block->first);
      blocks.erase(block);
    } else if (const auto first = pool.take(count)) {
      ASSERT_TRUE(*first >= 0 && *first + count <= end);
      for (int n = 0; n < count; ++n) ASSERT_TRUE(taken.insert(static_cast<int>(*first) + n).second);
      blocks[static_cast<int>(*first)] = count;
    } else {  // there really is no room
      int free = 0;
      for (int n = 0; n < end; ++n) ASSERT_LT(free = taken.count(n) != 0 ? 0 : free + 1, count);
    }
  }
}

}  // namespace
