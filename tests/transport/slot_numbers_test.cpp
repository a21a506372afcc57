#include "transport/shm/slot_numbers.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace dunnage::transport::shm {
namespace {

TEST(SlotNumbers, ReceiversShareLengths) {
  SlotNumbers numbers(26);
  for (std::uint32_t receiver = 0; receiver < 26; ++receiver)
    for (std::int64_t size = 0; size < length_count; ++size)
      EXPECT_TRUE(numbers.take(receiver, Slot::brief, size)) << receiver << ' ' << size;
  EXPECT_FALSE(numbers.take(3, Slot::brief, 5000)) << "all lengths announce other sizes";
  EXPECT_TRUE(numbers.take(3, Slot::usual, 5000));
  EXPECT_TRUE(numbers.take(3, Slot::brief, 17)) << "of a size that has a length";
}

TEST(SlotNumbers, TokensNeedNoLength) {
  SlotNumbers numbers(1);
  std::set<std::uint32_t> taken;
  for (std::int64_t size = 0; size < slots; ++size) taken.insert(numbers.take(0, Slot::token, size).value());
  EXPECT_EQ(taken.size(), slots);
  EXPECT_EQ(*taken.rbegin(), slots - 1);
  EXPECT_FALSE(numbers.take(0, Slot::token, 8));
  numbers.give_back(4711, 0, Slot::token);
  EXPECT_EQ(numbers.take(0, Slot::token, 8), 4711u);
}

// Held against a plain list of what is taken.
TEST(SlotNumbers, RandomTraffic) {
  std::mt19937 random(1);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  constexpr std::uint32_t receivers = 3;
  SlotNumbers numbers(receivers);
  struct Operation {
    std::uint32_t slot, receiver;
    Slot::Kind kind;
    std::int64_t size;
  };
  std::vector<Operation> operations;
  std::set<std::uint32_t> taken;
  using Length = std::tuple<std::uint32_t, Slot::Kind, std::uint32_t>;
  std::set<Length> avoided;
  for (int step = 0; step < 200000; ++step) {
    const auto receiver = below(receivers);
    const auto kind = static_cast<Slot::Kind>(below(3));
    const bool growing = step / 20000 % 2 == 0;
    if (below(2000) == 0 && kind != Slot::token) {
      const auto index = below(length_count);
      numbers.avoid(receiver, kind, index);
      avoided.insert({receiver, kind, index});
    } else if (operations.empty() || below(10) < (growing ? 6u : 4u)) {
      const std::int64_t size = 1000 * below(30);
      const auto slot = numbers.take(receiver, kind, size);
      ASSERT_TRUE(slot);  // few sizes, so there is a length for each
      ASSERT_TRUE(taken.insert(*slot).second);
      ASSERT_LT(*slot / length_count, numbers.rows());
      if (kind != Slot::token) {
        ASSERT_FALSE(avoided.contains({receiver, kind, *slot % length_count}));
      }
      operations.push_back({*slot, receiver, kind, size});
    } else {
      auto& gone = operations[below(static_cast<std::uint32_t>(operations.size()))];
      numbers.give_back(gone.slot, gone.receiver, gone.kind);
      taken.erase(gone.slot);
      gone = operations.back();
      operations.pop_back();
    }
    if (step % 500 != 0) continue;
    std::map<Length, std::int64_t> sizes;
    for (const auto& o : operations)
      if (o.kind != Slot::token) {
        const auto known = sizes.emplace(Length{o.receiver, o.kind, o.slot % length_count}, o.size).first->second;
        ASSERT_EQ(known, o.size);
      }
    ASSERT_EQ(numbers.rows(), taken.empty() ? 0 : *taken.rbegin() / length_count + 1);
  }
}

}  // namespace
}  // namespace dunnage::transport::shm
