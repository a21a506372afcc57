// Several messages from layout to layout in one launch, on the host, against the brute-force
// typemap.
#include <chrono>
#include <deque>
#include <iostream>

#include <gtest/gtest.h>

#include "../../support/check_kernels.hpp"
#include "message.hpp"
#include "type/text.hpp"

namespace dunnage::pack::cuda {
namespace {

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
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<MoveJob> jobs;
    for (auto n = random.between(1, random.between(0, 5) == 0 ? 150 : 12); n > 0; --n) {
      auto message = random_message(random);
      if (!message) continue;
      if (!fuses(message->job())) {
        ++left;
        continue;
      }
      jobs.push_back(message->job());
      messages.push_back(std::move(message));
      ++moved;
    }
    for (auto& launch : plan_moves(jobs, random.between(0, 1) == 0)) {
      ASSERT_TRUE(device.run(std::move(launch))) << device.names.back();
      ++launches;
    }
    for (const auto& message : messages)
      ASSERT_EQ(message->want.bytes, message->got.bytes)
          << "seed " << seed << ": " << type::to_text(*message->from_spec) << " to "
          << type::to_text(*message->to_spec);
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
  EXPECT_EQ(name_of(launches[0].id), "moves_n32_u1");
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

/// A thread of a launch with many words moves four of them.
TEST(FusedMoves, ManyWordsFourToAThread) {
  for (const auto& [all, most] : {std::pair{2, 8}, {20, 32}, {50, 64}, {100, 128}}) {
    for (const bool many : {false, true}) {
      std::deque<Message> messages;
      std::vector<MoveJob> jobs;
      for (int i = 0; i < all; ++i) {
        const auto words = std::to_string(i > 0 ? i : many ? 1 << 19 : 1000);
        const auto text = [&](const char* stride) { return "vector(" + words + ",1," + stride + ",float)"; };
        messages.emplace_back(type::parse(text("2")), type::parse(text("3")), 4 * (i % 3));
        jobs.push_back(messages.back().job());
      }
      for (const auto& job : jobs) ASSERT_TRUE(fuses(job));
      auto launches = plan_moves(jobs);
      ASSERT_EQ(launches.size(), 1u);
      EXPECT_EQ(name_of(launches[0].id), "moves_n" + std::to_string(most) + (many ? "_u4" : "_u1"));
      tests::EmulatedDevice device;
      ASSERT_TRUE(device.run(std::move(launches[0])));
      for (const auto& message : messages) ASSERT_TRUE(message.want.bytes == message.got.bytes);
    }
  }
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
