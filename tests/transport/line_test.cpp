// The protocol of a line, with the two ends in turn and in two threads.
#include "transport/gpu/line.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace {

using namespace dunnage::transport::gpu;
using News = LineReceiver::News;

/// Of lines with their last words elsewhere, too.
class LineTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t edges = 2;
  alignas(64) char memory[line_size(edges)];
  std::atomic<std::uint64_t> taken{0}, done{0};
  const LineEnd end = GetParam() ? LineEnd{&taken, &done} : LineEnd{};
  LineSender sender{memory, edges, end};
  LineReceiver receiver{memory, edges, end};

  static GpuSource at(std::int64_t offset) {
    GpuSource source{};
    source.offset = offset;
    source.size = source.block = 8;
    return source;
  }
  void watch_from(std::uint64_t exchange) { sender.use_messages(exchange - 1, true); }
  void announce(std::uint64_t exchange) {
    const GpuSource sources[] = {at(std::int64_t(exchange)), at(-1)};
    sender.describe(exchange, sources);
    sender.ring(exchange);
  }
};

INSTANTIATE_TEST_SUITE_P(End, LineTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "elsewhere" : "within"; });

TEST_P(LineTest, AtFirstDataComeAsMessages) {
  EXPECT_FALSE(sender.watched(1));
  EXPECT_EQ(receiver.news(1), News::messages);
}

TEST_P(LineTest, AReceiverWaitsForWhatItWatches) {
  watch_from(2);
  EXPECT_EQ(receiver.news(1), News::messages);
  EXPECT_EQ(receiver.news(2), News::none);
  announce(2);
  EXPECT_EQ(receiver.news(2), News::rung);
  EXPECT_EQ(receiver.sources()[0].offset, 2);
  EXPECT_EQ(receiver.described(), 2u);
  EXPECT_FALSE(receiver.take(2));
  EXPECT_FALSE(sender.read(2));
  receiver.done(2);
  EXPECT_TRUE(sender.read(2));
}

TEST_P(LineTest, ASenderGoesBackToMessages) {
  watch_from(1);
  sender.use_messages(1, false);
  EXPECT_EQ(receiver.news(1), News::messages);
  EXPECT_EQ(receiver.news(2), News::messages);
}

TEST_P(LineTest, ALateReceiverGetsACopy) {
  watch_from(1);
  announce(1);
  EXPECT_TRUE(sender.replace(1, {64, 5, 16, 1}));
  EXPECT_FALSE(sender.free());
  sender.use_messages(2, true);  // the next exchange does not wait for the receiver
  EXPECT_EQ(receiver.news(1), News::rung);
  const auto copy = receiver.take(1);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->serial, 5u);
  EXPECT_EQ(receiver.news(2), News::messages);
  EXPECT_EQ(receiver.news(3), News::none);
  receiver.done(1);
  EXPECT_TRUE(sender.free());
}

TEST_P(LineTest, WhatIsBeingReadIsNotReplaced) {
  watch_from(1);
  announce(1);
  EXPECT_FALSE(receiver.take(1));
  EXPECT_FALSE(sender.replace(1, {64, 5, 16, 1}));
}

TEST_P(LineTest, AReceiverThatIsBehindKnowsEachExchange) {
  watch_from(1);
  announce(1);
  ASSERT_TRUE(sender.replace(1, {}));
  sender.use_messages(2, true);
  sender.use_messages(3, false);
  EXPECT_EQ(receiver.news(1), News::rung);
  EXPECT_EQ(receiver.news(2), News::messages);
  EXPECT_EQ(receiver.news(3), News::messages);
}

/// The sender chooses by chance how each exchange goes. A counter stands for the messages: the
/// receiver waits for it to reach the number of exchanges that the sender has sent as messages.
TEST_P(LineTest, BothEndsAlwaysAgree) {
  constexpr std::uint64_t exchanges = 200000;
  std::atomic<std::uint64_t> sent{0};
  std::vector<char> by_message(exchanges + 1);
  std::thread other([&] {
    std::mt19937 random(1);
    for (std::uint64_t k = 1; k <= exchanges; ++k) {
      const bool able = random() % 4 != 0;
      if (able && sender.watched(k) && sender.free()) {
        announce(k);
        if (random() % 3 == 0 && sender.replace(k, {k, k, 0, 1})) continue;
        while (!sender.read(k)) std::this_thread::yield();
      } else {
        by_message[k] = 1;
        sender.use_messages(k, able);
        sent.fetch_add(1, std::memory_order_release);
      }
    }
  });
  std::uint64_t received = 0, wrong = 0;
  for (std::uint64_t k = 1; k <= exchanges; ++k) {
    auto news = receiver.news(k);
    for (; news == News::none; news = receiver.news(k)) std::this_thread::yield();
    if (news == News::messages) {
      ++received;
      while (sent.load(std::memory_order_acquire) < received) std::this_thread::yield();
      wrong += !by_message[k];
    } else {
      const auto copy = receiver.take(k);
      wrong += copy ? copy->serial != k : receiver.sources()[0].offset != std::int64_t(k);
    }
    receiver.done(k);
  }
  other.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(received, sent.load());
}

}  // namespace
