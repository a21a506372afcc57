// The protocol of a channel, with the two ends in turn and in two threads. A model stands for the
// MPI: it carries the messages that do not go by the channel.
#include "transport/gpu/channel.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

using namespace dunnage::transport::gpu;

class ChannelTest : public testing::Test {
 protected:
  alignas(64) char memory[channel_size];
  ChannelBoard board;
  ChannelSender sender{memory, {}, *board.seat(1).counts};
  ChannelReceiver receiver{memory, *board.seat(1).counts};
  /// A message whose line is rung later.
  ChannelSender::Sent send() {
    return sender.send([](std::uint64_t, std::uint8_t) { return false; });
  }
  ChannelSender::Sent send_ready() {
    return sender.send([](std::uint64_t, std::uint8_t) { return true; });
  }
};

TEST_F(ChannelTest, WhatComesFirstDecides) {
  EXPECT_FALSE(send().awaited);
  EXPECT_FALSE(receiver.receive().by_channel);
  EXPECT_TRUE(receiver.receive().by_channel);
  const auto sent = send();
  EXPECT_TRUE(sent.awaited);
  EXPECT_EQ(sent.number, 1u);
}

TEST_F(ChannelTest, TheSenderSeesWhetherTheNextReceiveHasBegun) {
  EXPECT_FALSE(sender.awaited());
  receiver.receive();
  EXPECT_TRUE(sender.awaited());
  EXPECT_TRUE(send().awaited);
  EXPECT_FALSE(sender.awaited());
}

TEST_F(ChannelTest, AChannelIsJoinedOrClosed) {
  EXPECT_TRUE(join(*reinterpret_cast<Channel*>(memory)));
  EXPECT_TRUE(sender.close());
  alignas(64) char other[channel_size];
  ChannelSender closing(other, {}, *board.seat(2).counts);
  EXPECT_FALSE(closing.close());
  EXPECT_FALSE(join(*reinterpret_cast<Channel*>(other)));
}

TEST_F(ChannelTest, BothRanksBoundWhichReceiveGetsWhichMessage) {
  ASSERT_TRUE(join(*reinterpret_cast<Channel*>(memory)));
  // Three messages were sent before the receiver joined, of which it had received one. So receive r
  // gets message r + 1.
  for (int i = 0; i < 3; ++i) send();
  EXPECT_TRUE(sender.receiver_learns());
  ASSERT_EQ(receiver.begin_uncounted(), 0);
  ASSERT_EQ(receiver.begin_uncounted(), 1);
  EXPECT_EQ(receiver.message_of(0), std::nullopt) << "the sender has told nothing";
  sender.matched(1);  // two receives have begun: too loose a bound
  EXPECT_EQ(receiver.message_of(0), std::nullopt);
  sender.matched(2);
  EXPECT_EQ(receiver.message_of(1), 2u);
  receiver.begin(3);
  EXPECT_FALSE(sender.receiver_learns());
  EXPECT_TRUE(receiver.receive().by_channel);
}

TEST_F(ChannelTest, LooseBoundsTellNothing) {
  ASSERT_TRUE(join(*reinterpret_cast<Channel*>(memory)));
  for (int i = 0; i < 4; ++i) {
    receiver.begin_uncounted();
    receiver.begin_uncounted();  // the receiver is ahead whenever the sender looks
    send();
    sender.matched(static_cast<std::uint64_t>(i));
    EXPECT_EQ(receiver.message_of(i), std::nullopt) << i;
    receiver.begin_uncounted();
  }
}

TEST_F(ChannelTest, AReceiverThatHasLeftIsSeen) {
  ASSERT_TRUE(join(*reinterpret_cast<Channel*>(memory)));
  EXPECT_FALSE(sender.is_left());
  receiver.leave();
  EXPECT_TRUE(sender.is_left());
  EXPECT_FALSE(join(*reinterpret_cast<Channel*>(memory)));
  EXPECT_TRUE(sender.close()) << "a receiver had joined";
}

TEST_F(ChannelTest, SeatsOfABoardHaveWordsOfTheirOwn) {
  std::set<const void*> words;
  for (std::uint32_t i = 0; i < ChannelBoard::seats; ++i) {
    const auto seat = board.seat(i);
    words.insert({seat.counts, seat.first_line.taken, seat.first_line.done});
  }
  EXPECT_EQ(words.size(), 3 * ChannelBoard::seats);
}

TEST_F(ChannelTest, AReceiverThatKnowsLessUsesTheMpi) {
  for (int i = 0; i < 5; ++i) send();
  receiver.begin(3);  // two messages are under way
  EXPECT_FALSE(receiver.receive().by_channel);
  EXPECT_FALSE(receiver.receive().by_channel);
  EXPECT_TRUE(receiver.receive().by_channel);
}

TEST_F(ChannelTest, WhatHasNotBeenSentIsTakenBack) {
  const auto first = receiver.receive(), second = receiver.receive(), third = receiver.receive();
  EXPECT_TRUE(send().awaited);
  EXPECT_FALSE(receiver.take_back(first.number));
  EXPECT_TRUE(receiver.take_back(second.number));
  EXPECT_EQ(receiver.counted(), third.number);
  EXPECT_TRUE(send().awaited);
  EXPECT_FALSE(send().awaited);
}

TEST_F(ChannelTest, ACountRingsIfTheLineIsReady) {
  using News = ChannelReceiver::News;
  const auto first = receiver.receive(3), second = receiver.receive(4), third = receiver.receive(5);
  EXPECT_EQ(receiver.news(first.number, 3), News::none);
  EXPECT_TRUE(send_ready().rung);
  EXPECT_EQ(receiver.news(first.number, 3), News::rung);
  EXPECT_EQ(receiver.news(second.number, 4), News::none);
  EXPECT_FALSE(send().rung);
  EXPECT_EQ(receiver.news(second.number, 4), News::ask_line);
  EXPECT_TRUE(send_ready().rung);
  EXPECT_EQ(receiver.news(third.number, 5), News::rung);
  const auto fourth = receiver.receive(3);  // the line of the first
  EXPECT_FALSE(send().rung);
  EXPECT_EQ(receiver.news(fourth.number, 3), News::ask_line);
  EXPECT_FALSE(send_ready().rung);  // no receive has begun
}

TEST_F(ChannelTest, TheLineIsAskedAboutOnceAReceiveWasTakenBack) {
  using News = ChannelReceiver::News;
  receiver.receive(1);
  EXPECT_TRUE(send_ready().rung);
  const auto number = receiver.receive(1).number;
  // Between the sender's look at the line and its count, a receive with another line takes the
  // place of this one.
  int looks = 0;
  const auto sent = sender.send([&](std::uint64_t, std::uint8_t line) {
    EXPECT_EQ(line, 1);
    if (++looks == 1) {
      EXPECT_TRUE(receiver.take_back(number));
      receiver.receive(2);
    }
    return true;
  });
  EXPECT_TRUE(sent.awaited);
  EXPECT_FALSE(sent.rung);
  EXPECT_EQ(sent.line, 2);
  EXPECT_EQ(receiver.news(number, 2), News::ask_line);
  receiver.receive(1);
  EXPECT_FALSE(send_ready().rung);
}

TEST_F(ChannelTest, AMessageThatIsLookedAtLateIsFoundOnItsLine) {
  const auto first = receiver.receive(3);
  EXPECT_TRUE(send_ready().rung);
  // Later messages go by the MPI. One of them gets the place where the first one's line stood.
  for (std::uint64_t i = 0; i < Channel::depth; ++i) {
    send();
    receiver.receive(7);
  }
  EXPECT_EQ(receiver.news(first.number, 3), ChannelReceiver::News::rung);
}

TEST_F(ChannelTest, AReceiveThatIsTakenBackBeforeTheCountLeavesTheMessageToTheMpi) {
  const auto number = receiver.receive(1).number;
  const auto sent = sender.send([&](std::uint64_t, std::uint8_t) { return receiver.take_back(number); });
  EXPECT_FALSE(sent.awaited);
  EXPECT_FALSE(sent.rung);
  EXPECT_FALSE(receiver.receive(2).by_channel);
}

/// Both ends by turns as chance has it: both always say the same of a message, and messages go by
/// the MPI only if a receive is there that asks the MPI.
TEST_F(ChannelTest, BothEndsAgreeByTurns) {
  std::mt19937 random(1);
  std::vector<int> sent, received;  // 1: by the channel
  std::deque<std::uint64_t> waiting;
  for (int i = 0; i < 200000; ++i) {
    const auto ahead = received.size() < sent.size() ? sent.size() - received.size() : 0;
    switch (random() % 5) {
      case 0:
      case 1:
        if (ahead < 40) sent.push_back(send().awaited);
        break;
      case 4:
        if (received.size() > sent.size()) {
          const auto number = sent.size() + random() % (received.size() - sent.size());
          ASSERT_TRUE(receiver.take_back(number));
          received.pop_back();
        } else if (!received.empty()) {
          ASSERT_FALSE(receiver.take_back(received.size() - 1));
        }
        break;
      default:
        if (received.size() < sent.size() + Channel::depth) {
          const auto begun = receiver.receive();
          ASSERT_EQ(begun.number, received.size());
          received.push_back(begun.by_channel);
        }
    }
    ASSERT_EQ(receiver.counted(), received.size());
  }
  for (std::size_t i = 0; i < std::min(sent.size(), received.size()); ++i) ASSERT_EQ(sent[i], received[i]) << i;
}

TEST_F(ChannelTest, BothEndsAgreeInTwoThreads) {
  constexpr std::uint64_t messages = 300000;
  std::vector<char> awaited(messages), by_channel(messages);
  const auto line_for = [](std::uint64_t i) { return static_cast<std::uint8_t>(i * 7 % 5); };
  std::atomic<std::uint64_t> sent{0}, received{0};
  std::thread other([&] {
    std::mt19937 random(1);
    for (std::uint64_t i = 0; i < messages; ++i) {
      const bool ready = random() % 2;
      const auto message = sender.send([&](std::uint64_t, std::uint8_t) { return ready; });
      awaited[i] = message.awaited && message.line == line_for(i) ? 1 + message.rung : 0;
      sent.store(i + 1, std::memory_order_release);
      // Not more than some messages ahead, and now and then behind.
      const auto wait = random() % 40 == 0 ? i + 1 : i > 20 ? i - 20 : 0;
      while (received.load(std::memory_order_acquire) < std::min(wait, messages)) std::this_thread::yield();
    }
  });
  std::mt19937 random(2);
  for (std::uint64_t i = 0; i < messages; ++i) {
    by_channel[i] = receiver.receive(line_for(i)).by_channel;
    if (by_channel[i]) {
      using News = ChannelReceiver::News;
      auto news = News::none;
      while ((news = receiver.news(i, line_for(i))) == News::none) std::this_thread::yield();
      by_channel[i] = news == News::rung ? 2 : 1;
    }
    received.store(i + 1, std::memory_order_release);
    const auto wait = random() % 40 == 0 ? i + 1 : i > 20 ? i - 20 : 0;
    while (sent.load(std::memory_order_acquire) < std::min(wait, messages)) std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(awaited, by_channel);
}

}  // namespace
