// Several messages from layout to layout in one launch, on the host, against the brute-force
// typemap.
#include <chrono>
#include <deque>
#include <iostream>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "../../support/random_nest.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {
namespace {

/// A message with its buffers, and what the receiver's buffer must hold at the end.
struct Message {
  type::SpecPtr from_spec, to_spec;
  std::int64_t size;  // packed bytes; the receiver's type may have more
  type::Layout from_layout = type::layout_of(*from_spec), to_layout = type::layout_of(*to_spec);
  Recipe from_recipe{from_layout, 1}, to_recipe{to_layout, 1};
  tests::Buffer from, want, got;

  Message(type::SpecPtr a, type::SpecPtr b, int misaligned)
      : from_spec(std::move(a)),
        to_spec(std::move(b)),
        size(from_spec->size),
        from(from_layout, 1, 0, misaligned),
        want(to_layout, 1, 0xC3, misaligned),
        got(to_layout, 1, 0xC3, misaligned) {
    from.number();
    std::vector<unsigned char> packed(static_cast<std::size_t>(to_spec->size)), before(packed);
    // What the message does not fill keeps its value.
    type::typemap_pack(*to_spec, 1, want.base(), packed.data());
    type::typemap_pack(*from_spec, 1, from.base(), packed.data());
    type::typemap_unpack(*to_spec, 1, packed.data(), want.base());
  }
  MoveJob job() {
    return {&from_recipe, reinterpret_cast<std::uintptr_t>(from.base()), &to_recipe,
            reinterpret_cast<std::uintptr_t>(got.base()), size};
  }
};

/// One nest, or a struct of two.
std::string random_layout(tests::RandomSpec& random, std::int64_t size, std::int64_t unit) {
  if (random.between(0, 2) || size < 2 * unit) return tests::random_nest(random, size, unit);
  const auto first = unit * random.between(1, size / unit - 1);
  const auto a = tests::random_nest(random, first, unit), b = tests::random_nest(random, size - first, unit);
  const auto a_spec = type::parse(a), b_spec = type::parse(b);
  const auto a_data = type::layout_of(*a_spec).data, b_data = type::layout_of(*b_spec).data;
  const auto at = a_data.offset + a_data.node->high - b_data.offset - b_data.node->low + unit * random.between(0, 3);
  return "struct([1,1],[0," + std::to_string(at) + "],[" + a + "," + b + "])";
}

TEST(FusedMoves, RandomMessagesAgainstTheTypemap) {
  const auto seconds = tests::test_option("DUNNAGE_TEST_SECONDS", 4);
  auto seed = static_cast<std::uint64_t>(tests::test_option(
      "DUNNAGE_TEST_SEED", std::chrono::system_clock::now().time_since_epoch().count() % 1000000000));
  std::cout << "first seed " << seed << " (repeat with DUNNAGE_TEST_SEED)\n";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  tests::EmulatedDevice device;
  long moved = 0, left = 0, launches = 0;
  for (; std::chrono::steady_clock::now() < until; ++seed) {
    tests::RandomSpec random(seed);
    std::deque<Message> messages;
    std::vector<MoveJob> jobs;
    for (auto n = random.between(1, random.between(0, 5) == 0 ? 150 : 12); n > 0; --n) {
      const std::int64_t unit = std::int64_t{1} << random.between(0, 4);
      const auto size = unit * random.between(1, 30) * random.between(1, 12);
      const auto more = random.between(0, 4) == 0 ? unit * random.between(1, 20) : 0;
      const auto from = type::parse(random_layout(random, size, unit));
      const auto to = type::parse(random_layout(random, size + more, unit));
      if (tests::overlaps(*to, 1)) continue;
      messages.emplace_back(from, to, random.between(0, 3) == 0 ? static_cast<int>(random.between(0, 15)) : 0);
      if (fuses(messages.back().job())) {
        jobs.push_back(messages.back().job());
        ++moved;
      } else {
        messages.pop_back();
        ++left;
      }
    }
    for (auto& launch : plan_moves(jobs)) {
      ASSERT_TRUE(device.run(std::move(launch))) << device.names.back();
      ++launches;
    }
    for (const auto& message : messages)
      ASSERT_EQ(message.want.bytes, message.got.bytes)
          << "seed " << seed << ": " << type::to_text(*message.from_spec) << " to " << type::to_text(*message.to_spec);
  }
  std::cout << moved << " messages moved by " << launches << " launches, " << left << " left\n";
  if (seconds) {
    EXPECT_GT(moved, 5 * launches);
    EXPECT_GT(moved, left);
  }
}

/// The faces, edges and corners of a cube: the regions of a halo exchange.
TEST(FusedMoves, TwentySixRegionsInOneLaunch) {
  constexpr int n = 12, h = 2, side = n + 2 * h;
  std::deque<Message> messages;
  std::vector<MoveJob> jobs;
  const auto region = [&](int x, int y, int z, bool ghost) {
    std::string sizes, begins;
    for (const int d : {z, y, x}) {
      const int length = d == 0 ? n : h;
      const int begin = d == 0 ? h : ghost ? (d < 0 ? 0 : h + n) : (d < 0 ? n : h);
      sizes += (sizes.empty() ? "" : ",") + std::to_string(length);
      begins += (begins.empty() ? "" : ",") + std::to_string(begin);
    }
    const auto edge = std::to_string(side);
    return type::parse("subarray([" + edge + "," + edge + "," + edge + "],[" + sizes + "],[" + begins + "],C,double)");
  };
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z)
        if (x || y || z) messages.emplace_back(region(x, y, z, false), region(x, y, z, true), 0);
  for (auto& message : messages) {
    ASSERT_TRUE(fuses(message.job()));
    jobs.push_back(message.job());
  }
  auto launches = plan_moves(jobs);
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_EQ(name_of(launches[0].id), "moves_n32");
  tests::EmulatedDevice device;
  ASSERT_TRUE(device.run(std::move(launches[0])));
  for (const auto& message : messages) EXPECT_EQ(message.want.bytes, message.got.bytes);
}

TEST(FusedMoves, ThreeHundredMessagesNeedThreeLaunches) {
  std::deque<Message> messages;
  std::vector<MoveJob> jobs;
  for (int i = 0; i < 300; ++i) {
    messages.emplace_back(type::parse("vector(10,1,2,double)"), type::parse("vector(5,2,3,double)"), 0);
    jobs.push_back(messages.back().job());
  }
  auto launches = plan_moves(jobs);
  ASSERT_EQ(launches.size(), 3u);
  tests::EmulatedDevice device;
  for (auto& launch : launches) ASSERT_TRUE(device.run(std::move(launch)));
  for (const auto& message : messages) ASSERT_EQ(message.want.bytes, message.got.bytes);
}

TEST(FusedMoves, WhatIsFasterAloneIsLeftAlone) {
  const auto planned = [](const char* from, const char* to, std::uintptr_t address) {
    const Recipe a(type::layout_of(*type::parse(from)), 1), b(type::layout_of(*type::parse(to)), 1);
    return fuses({&a, address, &b, std::uintptr_t{1} << 40, a.size()});
  };
  EXPECT_TRUE(planned("vector(100000,1,2,double)", "vector(50000,2,3,double)", 4096));
  EXPECT_TRUE(planned("contiguous(100,double)", "vector(100,1,2,double)", 4096));
  EXPECT_TRUE(planned("vector(100,1,2,double)", "vector(50,2,3,double)", 4097));  // short, though by bytes
  EXPECT_FALSE(planned("vector(100000,1,2,double)", "vector(50000,2,3,double)", 4097));
  EXPECT_FALSE(planned("hvector(200,1,8,hvector(200,1,1600,double))", "vector(40000,1,2,double)", 4096));
  EXPECT_FALSE(planned("indexed([9,3,5],[0,10,20],double)", "contiguous(17,double)", 4096));
}

}  // namespace
}  // namespace dunnage::pack::cuda
