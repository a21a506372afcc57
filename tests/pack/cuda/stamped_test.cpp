// Messages by stamped words, on the host, against the brute-force typemap.
#include <chrono>
#include <iostream>

#include <gtest/gtest.h>

#include "message.hpp"
#include "pack/cuda/plan_stamped.hpp"

namespace dunnage::pack::cuda {
namespace {

struct Pair {
  Pair(Message& message, std::uint64_t exchange) : epoch(exchange) {
    const auto from = reinterpret_cast<std::uintptr_t>(message.from.base());
    const auto to = reinterpret_cast<std::uintptr_t>(message.got.base());
    const auto a = stamped_side(message.from_recipe, from), b = stamped_side(message.to_recipe, to);
    if (a.entries > most_stamped_entries || b.entries > most_stamped_entries) return;
    const auto word = stamped_word_of(a.words, b.words, message.size);
    if (word == 0) return;
    cells.resize(static_cast<std::size_t>(message.size / word));
    fill(out, message.from_recipe, from, message.size, word);
    fill(in, message.to_recipe, to, message.size, word);
    out.sends = 1;
    possible = true;
  }
  void fill(StampedExchange& launch, const Recipe& recipe, std::uintptr_t user, std::int64_t size, std::int64_t word) {
    std::vector<FusedEntry> entries;
    add_stamped(entries, recipe, user, reinterpret_cast<std::uintptr_t>(cells.data()), size, word);
    std::copy(entries.begin(), entries.end(), launch.entry);
    launch.entries = static_cast<std::uint32_t>(entries.size());
    launch.epoch = &epoch;
    launch.broken = &broken;
    launch.broken_from = 1000;
  }
  std::uint64_t epoch, broken = 0;
  std::vector<std::uint64_t> cells;
  StampedExchange out, in;
  bool possible = false;
};

TEST(Stamped, RandomMessagesAgainstTheTypemap) {
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 2);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << "first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  tests::EmulatedDevice device;
  long sent = 0;
  for (; std::chrono::steady_clock::now() < until; ++seed) {
    tests::RandomSpec random(seed);
    const auto made = random_message(random);
    if (!made) continue;
    auto& message = *made;
    Pair pair(message, static_cast<std::uint64_t>(random.between(1, std::int64_t{1} << 40)));
    if (!pair.possible) continue;
    ++sent;
    const auto exchange = [&] {
      ASSERT_TRUE(device.run("stamped", &pair.out) && device.run("stamped", &pair.in));
      ASSERT_EQ(message.want.bytes, message.got.bytes)
          << "seed " << seed << ": " << type::to_text(*message.from_spec) << " to " << type::to_text(*message.to_spec);
    };
    exchange();
    // The cells have the stamps of before, and the words of before are wrong now.
    ++pair.epoch;
    for (auto& byte : message.from.bytes) byte = static_cast<unsigned char>(~byte);
    message.expect();
    exchange();
  }
  EXPECT_GT(sent, 0);
}

/// A smaller word needs one loop more, for which there may be no room (seed 997411863).
TEST(Stamped, AWordSuitsBothSides) {
  Message message(
      type::parse("struct([1,1],[0,340],[hvector(20,1,12,contiguous(8,byte)),hvector(1,1,118,hvector(8,1,-14,"
                  "contiguous(10,byte)))])"),
      type::parse("hvector(1,1,820,hvector(5,1,164,hvector(2,1,-80,hvector(6,1,12,contiguous(4,byte)))))"), 0);
  const auto side = stamped_side(message.to_recipe, reinterpret_cast<std::uintptr_t>(message.got.base()));
  EXPECT_EQ(side.words, 4);
  EXPECT_FALSE(Pair(message, 1).possible);
}

TEST(Stamped, AnExchangeThatIsGivenUpEndsTheWait) {
  const auto row = type::parse("contiguous(5,double)");
  Message message(row, row, 0);
  Pair pair(message, 7);
  ASSERT_TRUE(pair.possible);
  pair.broken = 1000;
  const auto before = message.got.bytes;
  tests::EmulatedDevice device;
  ASSERT_TRUE(device.run("stamped", &pair.in));
  EXPECT_EQ(message.got.bytes, before);
}

TEST(Stamped, LongMessagesAndListsAreNot) {
  const auto list = type::parse("indexed([1,1,1],[0,5,7],double)");
  const auto layout = type::layout_of(*list);
  EXPECT_EQ(stamped_side(Recipe(layout, 1), 0).words, 0);
  EXPECT_EQ(stamped_word_of(7, 7, 4096), 4);
  EXPECT_EQ(stamped_word_of(7, 7, 4100), 0);
  EXPECT_EQ(stamped_word_of(7, 1, 1024), 1);
  EXPECT_EQ(stamped_word_of(7, 1, 1025), 0);
  EXPECT_EQ(stamped_word_of(7, 0, 8), 0);
  EXPECT_EQ(stamped_word_of(7, 7, 6), 2);
  EXPECT_EQ(stamped_word_of(4, 2, 8), 0);
}

}  // namespace
}  // namespace dunnage::pack::cuda
