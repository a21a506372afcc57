#include "memory/staging.hpp"

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::memory {
namespace {

TEST(Staging, ComesBackFromThePool) {
  StagingPool pool(1 << 20);
  const char* first;
  {
    const auto a = pool.take(1000);
    ASSERT_TRUE(a);
    first = a.data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
    std::memset(a.data(), 1, 1000);
    EXPECT_EQ(pool.idle_bytes(), 0u);
  }
  EXPECT_EQ(pool.idle_bytes(), 1024u);
  EXPECT_EQ(pool.take(600).data(), first);
}

TEST(Staging, KeepsNoMoreThanTheLimit) {
  StagingPool pool(4096);
  { const auto a = pool.take(4096), b = pool.take(4096), c = pool.take(100000); }
  EXPECT_EQ(pool.idle_bytes(), 4096u);
}

TEST(Staging, NoMemoryIsAnEmptyBuffer) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator ends the program where this test wants a null pointer";
#endif
  StagingPool pool(4096);
  EXPECT_FALSE(pool.take(std::int64_t{1} << 62));
  EXPECT_TRUE(pool.take(0));
}

/// Bytes of this process that are in memory.
std::int64_t resident() {
  long all = 0, in_memory = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file && std::fscanf(file, "%ld %ld", &all, &in_memory) != 2) in_memory = 0;
  if (file) std::fclose(file);
  return std::int64_t{in_memory} * 4096;
}

TEST(Staging, WhatIsNotKeptGoesBackToTheSystem) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  constexpr std::int64_t messages = 2000;
  StagingPool pool(0);
  const auto before = resident();
  std::vector<Staging> pending;
  for (std::int64_t i = 0; i < messages; ++i) {
    pending.push_back(pool.take(64 << 10));
    std::memset(pending.back().data(), 1, 64 << 10);
  }
  const std::vector<char> after_all(100 << 10);  // the heap cannot become smaller below this
  EXPECT_GT(resident() - before, messages * (60 << 10));
  pending.clear();
  EXPECT_LT(resident() - before, 16 << 20);
}

TEST(Staging, MovesOwnership) {
  StagingPool pool(4096);
  auto a = pool.take(256);
  auto b = std::move(a);
  EXPECT_TRUE(b);
  b = Staging();
  EXPECT_EQ(pool.idle_bytes(), 256u);
}

TEST(Staging, Threads) {
  StagingPool pool(1 << 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 1; i < 2000; ++i) {
        const auto s = pool.take(i * 7);
        s.data()[0] = static_cast<char>(i);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_LE(pool.idle_bytes(), std::uint64_t{1} << 20);
}

}  // namespace
}  // namespace dunnage::memory
