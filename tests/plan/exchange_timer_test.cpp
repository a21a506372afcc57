#include "plan/exchange_timer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace {

using dunnage::plan::exchange_rules;
using dunnage::plan::ExchangeTimer;
using dunnage::plan::Packer;
using dunnage::plan::PackTrial;
using Message = ExchangeTimer::Message;

std::int64_t now = 0;

class Exchanges : public testing::Test {
 protected:
  ExchangeTimer timer{[] { return now; }};
  PackTrial sends{Packer::cached, false, exchange_rules, 1};
  PackTrial receives{Packer::cached, false, exchange_rules, 2};

  /// A message of the trial is begun in a call of its own. Returns who packs it.
  Packer begin(PackTrial& trial, std::vector<Message>& under_way, std::int64_t takes = 10) {
    const ExchangeTimer::Call call(timer);
    auto [packer, message] = timer.begin(trial);
    under_way.push_back(std::move(message));
    now += takes;
    return packer;
  }
  /// A call in which all messages end.
  void finish(std::vector<Message>& under_way, std::int64_t takes) {
    const ExchangeTimer::Call call(timer);
    now += takes;
    under_way.clear();
  }
  /// Receives and sends `messages` each. An exchange takes so long for each message that somebody
  /// packs. The program computes between the calls.
  void exchange(int messages, const std::map<Packer, std::int64_t>& send,
                const std::map<Packer, std::int64_t>& receive) {
    std::vector<Message> under_way;
    std::int64_t time = 0;
    for (int i = 0; i < messages; ++i) time += receive.at(begin(receives, under_way));
    for (int i = 0; i < messages; ++i) time += send.at(begin(sends, under_way));
    now += 1000000;
    finish(under_way, time);
  }
};

TEST_F(Exchanges, FindTheBestOfBothSides) {
  for (int i = 0; i < 100; ++i)
    exchange(4, {{Packer::library, 2000}, {Packer::cached, 1500}}, {{Packer::library, 1000}, {Packer::cached, 1200}});
  EXPECT_TRUE(sends.settled());
  EXPECT_TRUE(receives.settled());
  EXPECT_EQ(sends.choice(), Packer::cached);
  EXPECT_EQ(receives.choice(), Packer::library);
}

TEST_F(Exchanges, CountTheTimeOfCallsForEachMessage) {
  for (int i = 0; i < 40; ++i) {
    std::vector<Message> under_way;
    for (int k = 0; k < 4; ++k) begin(sends, under_way, 100);
    now += 1000000;  // the program computes
    finish(under_way, 400);
  }
  const auto found = sends.found();
  EXPECT_EQ(found.nanoseconds[static_cast<std::size_t>(Packer::library)], 200);
  EXPECT_EQ(found.nanoseconds[static_cast<std::size_t>(Packer::cached)], 200);
}

TEST_F(Exchanges, ThatHaveEndedInOneCallAreMeasuredToItsEnd) {
  for (int i = 0; i < 40; ++i) {
    const ExchangeTimer::Call call(timer);
    {
      const ExchangeTimer::Call inner(timer);
      const auto turn = timer.begin(sends);
    }
    now += 70;
  }
  EXPECT_EQ(sends.found().nanoseconds[static_cast<std::size_t>(Packer::cached)], 70);
}

/// Nothing is known of messages that fail, or that another thread completes.
TEST_F(Exchanges, ThatTellNothingAreNotCounted) {
  for (int i = 0; i < 8; ++i) {
    const ExchangeTimer::Call call(timer);
    timer.begin(sends).message.give_up();
  }
  for (int i = 0; i < 7; ++i) {
    std::vector<Message> under_way;
    begin(sends, under_way);
    std::jthread([&] { finish(under_way, 5); });
  }
  for (const auto time : sends.found().nanoseconds) EXPECT_EQ(time, 0);
}

TEST_F(Exchanges, RestIfTheyTellNothing) {
  const auto measured = [&](int calls) {
    int n = 0;
    for (int i = 0; i < calls; ++i) {
      const ExchangeTimer::Call call(timer);
      auto turn = timer.begin(sends);
      n += static_cast<bool>(turn.message);
      turn.message.give_up();
    }
    return n;
  };
  EXPECT_EQ(measured(PackTrial::most_lost), PackTrial::most_lost);
  EXPECT_EQ(measured(PackTrial::rest), 0);
  EXPECT_EQ(measured(1), 1);
}

/// A receive that stays begun must not keep all other messages from being measured.
TEST_F(Exchanges, ThatDoNotEndAreGivenUp) {
  std::vector<Message> stays, others;
  begin(receives, stays);
  int calls = 0;
  for (; calls < 100000 && others.empty(); ++calls) {
    std::vector<Message> one;
    begin(sends, one);
    if (one.front()) others = std::move(one);
  }
  EXPECT_GT(calls, 1000);
  EXPECT_LT(calls, 100000);
  stays.clear();  // the end of an exchange that was given up
  finish(others, 10);
  EXPECT_NE(sends.found().nanoseconds[0] + sends.found().nanoseconds[1], 0);
}

TEST_F(Exchanges, OtherThreadsUseWhatIsKnown) {
  std::vector<Message> under_way;
  begin(sends, under_way);
  std::jthread([&] {
    const ExchangeTimer::Call call(timer);
    const auto turn = timer.begin(receives);
    EXPECT_EQ(turn.packer, Packer::cached);
    EXPECT_FALSE(turn.message);
  });
  finish(under_way, 10);
}

}  // namespace
