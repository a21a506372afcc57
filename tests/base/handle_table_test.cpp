#include "base/handle_table.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace dunnage::base {
namespace {

/// A table as programs of one thread have it, or of several.
template <class T>
class Table : public HandleTable<T> {
 public:
  explicit Table(bool one_thread) {
    if (one_thread) this->one_thread_at_a_time();
  }
};
class OfThreads : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(OneOrSeveral, OfThreads, testing::Bool());

TEST(HandleTable, TellsWhichHandlesHaveAWantedValue) {
  HandleTable<int> table;
  int even = 2, odd = 3;
  for (std::uint64_t key = 1; key <= 200; ++key) table.insert(key, key % 2 ? &odd : &even);
  table.erase(4);
  const auto keys = table.keys([](int value) { return value == 2; });
  EXPECT_EQ(keys.size(), 99u);
  for (const auto key : keys) EXPECT_TRUE(key % 2 == 0 && key != 4) << key;
}

TEST_P(OfThreads, FindsWhatWasInsertedAndNothingElse) {
  Table<int> table(GetParam());
  int a = 1, b = 2;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find(7), nullptr);
  EXPECT_EQ(table.insert(7, &a), nullptr);
  EXPECT_EQ(table.find(7), &a);
  EXPECT_EQ(table.find(8), nullptr);
  EXPECT_EQ(table.insert(7, &b), &a);
  EXPECT_EQ(table.erase(7), &b);
  EXPECT_EQ(table.erase(7), nullptr);
  EXPECT_EQ(table.find(7), nullptr);
  EXPECT_TRUE(table.empty());
}

TEST_P(OfThreads, GrowsAndReusesRecurringHandles) {
  Table<std::uint64_t> table(GetParam());
  std::vector<std::uint64_t> values(10000);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      values[i] = i;
      table.insert(i * 64 + 1, &values[i]);
    }
    for (std::uint64_t i = 0; i < values.size(); ++i) ASSERT_EQ(*table.find(i * 64 + 1), i);
    for (std::uint64_t i = 0; i < values.size(); ++i) table.erase(i * 64 + 1);
    EXPECT_TRUE(table.empty());
  }
}

TEST_P(OfThreads, TakesOutAndPutsBackEvenIfItGrewMeanwhile) {
  struct Item {
    std::uint64_t key;
    bool stays;
  };
  Table<Item> table(GetParam());
  std::vector<Item> items = {{10, false}, {20, true}, {30, false}};
  const std::vector<Item*> all = {&items[0], nullptr, &items[1], &items[2]};
  for (auto& item : items) table.insert(item.key, &item);
  const auto moves = [](const Item& item) { return !item.stays; };
  table.take_out(all, moves);
  EXPECT_EQ(table.find(10), nullptr);
  EXPECT_EQ(table.find(20), &items[1]);
  std::vector<Item> others(5000);
  for (std::uint64_t i = 0; i < others.size(); ++i) table.insert(100 + i, &others[i]);
  EXPECT_TRUE(table.put_back(all, moves).empty());
  for (auto& item : items) EXPECT_EQ(table.find(item.key), &item);
  for (std::uint64_t i = 0; i < others.size(); ++i) table.erase(100 + i);
  // A handle that has got another value meanwhile keeps that.
  table.take_out(all, moves);
  Item newer{10, false};
  table.insert(newer.key, &newer);
  EXPECT_EQ(table.put_back(all, moves), std::vector<Item*>{&items[0]});
  EXPECT_EQ(table.erase(10), &newer);
  EXPECT_EQ(table.erase(20), &items[1]);
  EXPECT_EQ(table.erase(30), &items[2]);
  EXPECT_TRUE(table.empty());
}

// Under ThreadSanitizer this is the proof that lookups need no lock.
TEST(HandleTable, ThreadsWithTheirOwnHandles) {
  HandleTable<int> table;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&table, t] {
      int value = static_cast<int>(t);
      for (std::uint64_t i = 1; i < 3000; ++i) {
        const auto key = i * 4 + t;
        table.insert(key, &value);
        ASSERT_EQ(table.find(key), &value);
        ASSERT_EQ(table.find(key + 400000), nullptr);
        if (i % 3) table.erase(key);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dunnage::base
