#include "plan/exchange_timer.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace {

using dunnage::plan::ExchangeTimer;
using dunnage::plan::ExchangeTrial;
using dunnage::plan::Packer;
using Message = ExchangeTimer::Message;

std::int64_t now = 0;

class Exchanges : public testing::Test {
 protected:
  ExchangeTimer timer{[] { return now; }};
  ExchangeTrial sends{Packer::library, 1000}, receives{Packer::library, 1000};

  /// A message of the trial is begun in a call of its own. Returns who packs it.
  Packer begin(ExchangeTrial& trial, std::vector<Message>& under_way, std::int64_t takes = 10) {
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

/// One candidate packs all messages of an exchange. The sum counts.
TEST_F(Exchanges, FindWhatIsBestForBothSidesTogether) {
  for (int i = 0; i < 1000; ++i)
    exchange(4, {{Packer::library, 2000}, {Packer::cached, 1000}}, {{Packer::library, 1000}, {Packer::cached, 1200}});
  EXPECT_TRUE(sends.settled());
  EXPECT_TRUE(receives.settled());
  EXPECT_EQ(sends.choice(), Packer::cached);
  EXPECT_EQ(receives.choice(), Packer::cached);
}

TEST_F(Exchanges, LeaveAllMessagesToTheMpiIfTheSumIsNoGain) {
  for (int i = 0; i < 1000; ++i)
    exchange(4, {{Packer::library, 2000}, {Packer::cached, 1000}}, {{Packer::library, 1000}, {Packer::cached, 2200}});
  EXPECT_EQ(sends.choice(), Packer::library);
  EXPECT_EQ(receives.choice(), Packer::library);
}

TEST_F(Exchanges, CountTheTimeOfCallsForEachMessage) {
  for (int i = 0; i < 200; ++i) {
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
  for (int i = 0; i < 200; ++i) {
    now += 1000000;
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
  EXPECT_EQ(measured(ExchangeTrial::first_messages), 0);
  EXPECT_EQ(measured(ExchangeTrial::most_lost), ExchangeTrial::most_lost);
  EXPECT_EQ(measured(ExchangeTrial::rest), 0);
  EXPECT_EQ(measured(1), 1);
}

/// A receive that stays begun must not keep all other messages from being measured.
TEST_F(Exchanges, ThatDoNotEndAreGivenUp) {
  std::vector<Message> stays;
  while (stays.empty() || !stays.back()) begin(receives, stays);
  const auto send_one = [&] {
    std::vector<Message> one;
    begin(sends, one, 10000);
    finish(one, 10);
  };
  for (int i = 0; i < 1000; ++i) send_one();
  EXPECT_FALSE(sends.settled());
  for (int i = 0; i < 100000; ++i) send_one();
  EXPECT_TRUE(sends.settled());
  stays.clear();  // the end of an exchange that was given up
}

TEST_F(Exchanges, OtherThreadsUseWhatIsKnown) {
  std::vector<Message> under_way;
  begin(sends, under_way);
  std::jthread([&] {
    const ExchangeTimer::Call call(timer);
    const auto turn = timer.begin(receives);
    EXPECT_EQ(turn.packer, Packer::library);
    EXPECT_FALSE(turn.message);
  });
  finish(under_way, 10);
}

}  // namespace
