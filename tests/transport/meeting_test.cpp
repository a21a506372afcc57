// The protocol of a meeting, by hand and by threads.
#include "transport/gpu/meeting.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace {

using namespace dunnage::transport::gpu;

class MeetingTest : public testing::Test {
 protected:
  static constexpr std::uint32_t ranks = 3;
  Seat seats[ranks];

  Meeting meeting_of(std::uint32_t rank) {
    std::vector<const Seat*> all;
    for (auto& seat : seats) all.push_back(&seat);
    all[rank] = nullptr;
    return Meeting(&seats[rank], rank, all);
  }
  static ReductionOffer offer(std::int64_t count, std::int64_t at = 0) {
    ReductionOffer one{};
    one.count = count;
    one.input_at = at;
    return one;
  }
};

TEST_F(MeetingTest, AllOffer) {
  Meeting a = meeting_of(0), b = meeting_of(1), c = meeting_of(2);
  EXPECT_TRUE(a.may_announce());
  a.tell_slots({{}, 7, 0, 0});
  EXPECT_EQ(a.announce(offer(5, 1)), 1u);
  b.announce(offer(5, 2));
  EXPECT_FALSE(a.all_announced());
  c.announce(offer(5, 3));
  ASSERT_TRUE(a.all_announced());
  const auto offers = a.take_offers();
  ASSERT_EQ(offers.size(), ranks);
  EXPECT_EQ(offers[2].input_at, 3);
  EXPECT_FALSE(a.may_announce());  // the others have not seen the offers
  EXPECT_EQ(b.take_offers().size(), ranks);
  EXPECT_EQ(b.slots_of(0).at, 7);
  EXPECT_EQ(c.take_offers().size(), ranks);
  EXPECT_TRUE(a.may_announce());
  EXPECT_FALSE(a.has_reduced(1));
  b.reduced();
  EXPECT_TRUE(a.has_reduced(1));
  EXPECT_FALSE(a.has_failed(1));
  EXPECT_FALSE(a.any_has_failed());
  c.fail();
  EXPECT_TRUE(a.any_has_failed());
  EXPECT_TRUE(a.has_reduced(2));
  EXPECT_TRUE(a.has_failed(2));
  b.finished();
  EXPECT_FALSE(a.all_finished());
  c.finished();
  EXPECT_TRUE(a.all_finished());
}

TEST_F(MeetingTest, OneMakesNoOffer) {
  Meeting a = meeting_of(0), b = meeting_of(1), c = meeting_of(2);
  a.announce(offer(5));
  b.announce(std::nullopt);
  c.announce(offer(5));
  for (auto* one : {&a, &b, &c}) {
    EXPECT_TRUE(one->all_announced());
    EXPECT_TRUE(one->take_offers().empty());
  }
}

TEST_F(MeetingTest, DifferentCallsAreNone) {
  Meeting a = meeting_of(0), b = meeting_of(1), c = meeting_of(2);
  a.announce(offer(5));
  b.announce(offer(6));
  c.announce(offer(5));
  EXPECT_TRUE(a.take_offers().empty());
  EXPECT_TRUE(b.take_offers().empty());
  EXPECT_TRUE(c.take_offers().empty());
}

/// Ranks come and go at their own pace. Every rank must see the same offers in each call.
TEST_F(MeetingTest, ManyCalls) {
  constexpr int calls = 3000;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([this, rank] {
      auto meeting = meeting_of(rank);
      const auto until = [](auto&& f) {
        while (!f()) std::this_thread::yield();
      };
      for (int call = 1; call <= calls; ++call) {
        const auto refuses = [&](std::uint32_t r) { return (call + static_cast<int>(r) * 7) % 11 == 0; };
        bool all = true;
        for (std::uint32_t r = 0; r < ranks; ++r) all &= !refuses(r);
        until([&] { return meeting.may_announce(); });
        meeting.announce(refuses(rank) ? std::nullopt : std::optional(offer(call, rank)));
        until([&] { return meeting.all_announced(); });
        const auto offers = meeting.take_offers();
        ASSERT_EQ(offers.size(), all ? ranks : 0u);
        if (!all) continue;
        for (std::uint32_t r = 0; r < ranks; ++r) {
          EXPECT_EQ(offers[r].count, call);
          EXPECT_EQ(offers[r].input_at, r);
        }
        meeting.reduced();
        until([&] { return meeting.has_reduced((rank + 1) % ranks); });
        EXPECT_FALSE(meeting.has_failed((rank + 1) % ranks));
        meeting.finished();
        until([&] { return meeting.all_finished(); });
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
