#include "base/pool.hpp"

#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

// Numbers stand for blocks; the source remembers which of them exist.
struct World {
  std::map<int, std::size_t> blocks;  // bytes, by the block
  int last = 0;
  bool exhausted = false;
};

template <bool Room>
struct FakeSource {
  using Block = int;
  static constexpr int smallest = 4;
  static constexpr bool makes_room = Room;
  World* world;

  int make(std::size_t bytes, int first = 1) {
    if (world->exhausted) return 0;
    world->blocks[world->last += first] = bytes;
    return world->last;
  }
  void free(int block, std::size_t bytes) {
    EXPECT_EQ(world->blocks.at(block), bytes);
    world->blocks.erase(block);
  }
};
using FakePool = Pool<FakeSource<false>>;
using RoomyPool = Pool<FakeSource<true>>;

TEST(Pool, RoundsUpToPowersOfTwo) {
  EXPECT_EQ(FakePool::rounded(0), 16u);
  EXPECT_EQ(FakePool::rounded(16), 16u);
  EXPECT_EQ(FakePool::rounded(17), 32u);
  EXPECT_EQ(FakePool::rounded(1 << 20), 1u << 20);
  EXPECT_EQ(FakePool::rounded((1 << 20) + 1), 2u << 20);
}

TEST(Pool, ReturnsTheLastBlockOfTheSameSizeFirst) {
  World world;
  FakePool pool({&world});
  const auto a = pool.take(100), b = pool.take(128), other = pool.take(129);
  EXPECT_EQ(world.blocks.size(), 3u);
  pool.give(a, 100);
  pool.give(other, 129);
  pool.give(b, 128);
  EXPECT_EQ(pool.idle().bytes(), 2 * 128u + 256u);
  EXPECT_EQ(pool.take(65), b);
  EXPECT_EQ(pool.take(65), a);
  EXPECT_EQ(pool.take_idle(65), 0);
  EXPECT_EQ(pool.take_idle(256), other);
  EXPECT_EQ(pool.idle().bytes(), 0u);
  EXPECT_EQ(world.blocks.size(), 3u);
}

TEST(Pool, FreesWhatTheIdleLimitDoesNotAdmit) {
  World world;
  FakePool pool({&world});
  const auto a = pool.take(64), b = pool.take(64), large = pool.take(1000);
  pool.give(a, 64, 100);
  pool.give(b, 64, 100);
  pool.give(large, 1000, 100);
  EXPECT_EQ(pool.idle().bytes(), 64u);
  EXPECT_EQ(world.blocks.size(), 1u);
  EXPECT_EQ(pool.take(64), a);
}

TEST(Pool, FreesOtherIdleBlocksForAnIdleLimitIfTheSourceMakesRoom) {
  World world;
  RoomyPool pool({&world});
  const auto small = pool.take(16), large = pool.take(64), next = pool.take(32), huge = pool.take(1000);
  pool.give(small, 16, 80);
  pool.give(large, 64, 80);
  pool.give(next, 32, 80);
  EXPECT_EQ(pool.idle().bytes(), 48u) << "the largest made room";
  pool.give(huge, 1000, 80);
  EXPECT_EQ(world.blocks.count(huge), 0u) << "larger than the limit";
  EXPECT_EQ(pool.idle().bytes(), 48u) << "nothing else was freed for that block";
}

TEST(Pool, StaysBelowItsHardLimit) {
  World world;
  FakePool pool({&world});
  EXPECT_EQ(pool.take(65, 64), 0);
  const auto a = pool.take(64, 64);
  EXPECT_NE(a, 0);
  EXPECT_EQ(pool.take(16, 64), 0);
  pool.give(a, 64);
  EXPECT_EQ(pool.take(16, 64), 0) << "idle memory counts";
  EXPECT_EQ(pool.take(64, 64), a);
  EXPECT_EQ(pool.take(16, 32), 0) << "a limit may become smaller";
}

TEST(Pool, FreesIdleBlocksForAHardLimitIfTheSourceMakesRoom) {
  World world;
  RoomyPool pool({&world});
  const auto a = pool.take(64, 100), b = pool.take(16, 100);
  pool.give(a, 64);
  EXPECT_NE(pool.take(32, 100), 0);
  EXPECT_EQ(world.blocks.count(a), 0u);
  EXPECT_EQ(world.blocks.count(b), 1u);
  EXPECT_EQ(pool.take(64, 100), 0) << "nothing is idle now";
  pool.give(b, 16);
  EXPECT_EQ(pool.take(65, 100), 0) << "128 bytes are more than the limit";
  EXPECT_EQ(world.blocks.count(b), 1u) << "nothing was freed for that block";
}

TEST(Pool, HasNoBlockLargerThanAnyAddress) {
  World world;
  FakePool pool({&world});
  EXPECT_EQ(pool.take(~std::size_t{0}), 0);
  EXPECT_EQ(pool.take_idle(~std::size_t{0}), 0);
}

TEST(Pool, DoesNotCountWhatCouldNotBeMade) {
  World world;
  FakePool pool({&world});
  world.exhausted = true;
  EXPECT_EQ(pool.take(64, 64), 0);
  world.exhausted = false;
  EXPECT_NE(pool.take(64, 64), 0);
}

TEST(Pool, PassesArgumentsToTheSource) {
  World world;
  FakePool pool({&world});
  EXPECT_EQ(pool.take(64, FakePool::unlimited, 7), 7);
}

TEST(Pool, LeavesAloneWhatComesBackAfterTheRelease) {
  World world;
  FakePool pool({&world});
  const auto a = pool.take(64), b = pool.take(64);
  pool.give(a, 64);
  pool.release();
  EXPECT_EQ(world.blocks.size(), 1u);
  pool.give(b, 64);
  EXPECT_EQ(world.blocks.size(), 1u) << "its source may be gone";
  EXPECT_EQ(pool.take(64), 0);
}

struct HeapSource {
  using Block = char*;
  static constexpr int smallest = 4;
  static constexpr bool makes_room = true;
  std::atomic<long>* live;

  char* make(std::size_t bytes) {
    ++*live;
    return static_cast<char*>(std::malloc(bytes));
  }
  void free(char* block, std::size_t) {
    --*live;
    std::free(block);
  }
};

TEST(Pool, Threads) {
  std::atomic<long> live{0};
  Pool<HeapSource> pool({&live});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      for (std::size_t i = 1; i < 5000; ++i) {
        const auto size = i * static_cast<std::size_t>(t + 1) % 3000 + 1;
        auto* block = pool.take(size, 1 << 16);
        if (!block) continue;
        block[0] = block[size - 1] = static_cast<char>(i);
        pool.give(block, size, 8192);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(pool.idle().bytes(), 8192u);
  EXPECT_GT(live, 0);
  pool.release();
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace dunnage::base
