// Slots of nonblocking exchanges, with the two ends in turn and in two threads.
#include "transport/shm/exchange_slot.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <thread>

namespace dunnage::transport::shm {
namespace {

PostedExchange holding(const std::string& text) {
  PostedExchange what;
  what.data = PostedExchange::Data::here;
  what.size = static_cast<std::int64_t>(text.size());
  std::memcpy(what.here, text.data(), text.size());
  return what;
}
std::string text_of(const PostedExchange& what) { return {what.here, static_cast<std::size_t>(what.size)}; }

class ExchangeSlotTest : public testing::Test {
 protected:
  std::array<ExchangeSlot, exchange_slots> slots;
  PostedExchange what;
};

TEST_F(ExchangeSlotTest, WhatIsPostedIsTakenOnce) {
  EXPECT_FALSE(take(slots.data(), 1, what));
  EXPECT_TRUE(post(slots.data(), 1, holding("some data")));
  EXPECT_FALSE(take(slots.data(), 2, what)) << "another exchange";
  ASSERT_TRUE(take(slots.data(), 1, what));
  EXPECT_EQ(text_of(what), "some data");
  EXPECT_FALSE(take(slots.data(), 1, what));
}

TEST_F(ExchangeSlotTest, APublicationIsToldWhole) {
  PostedExchange published;
  published.data = PostedExchange::Data::published;
  published.size = 1 << 20;  // nothing of it is here
  published.begin = 2;
  published.serial = 3;
  published.place = 64;
  EXPECT_TRUE(post(slots.data(), 1, published));
  ASSERT_TRUE(take(slots.data(), 1, what));
  EXPECT_EQ(what.data, PostedExchange::Data::published);
  EXPECT_EQ(what.size, 1 << 20);
  EXPECT_EQ(what.begin, 2u);
  EXPECT_EQ(what.serial, 3u);
  EXPECT_EQ(what.place, 64);
}

TEST_F(ExchangeSlotTest, NoSlotIsWrittenThatHasNotBeenSeen) {
  for (std::uint64_t exchange = 1; exchange <= exchange_slots; ++exchange)
    EXPECT_TRUE(post(slots.data(), exchange, holding(std::to_string(exchange))));
  EXPECT_FALSE(post(slots.data(), exchange_slots + 1, holding("too early")));
  ASSERT_TRUE(take(slots.data(), 1, what));
  EXPECT_EQ(text_of(what), "1");
  EXPECT_TRUE(post(slots.data(), exchange_slots + 1, holding("now")));
  ASSERT_TRUE(take(slots.data(), 2, what));
  EXPECT_EQ(text_of(what), "2");
}

TEST_F(ExchangeSlotTest, TwoThreads) {
  constexpr std::uint64_t many = 20000;
  std::thread writer([&] {
    for (std::uint64_t exchange = 1; exchange <= many; ++exchange)
      while (
          !post(slots.data(), exchange, holding(std::string(exchange % 200, static_cast<char>('a' + exchange % 26)))))
        std::this_thread::yield();
  });
  for (std::uint64_t exchange = 1; exchange <= many; ++exchange) {
    while (!take(slots.data(), exchange, what)) std::this_thread::yield();
    ASSERT_EQ(text_of(what), std::string(exchange % 200, static_cast<char>('a' + exchange % 26)));
  }
  writer.join();
}

}  // namespace
}  // namespace dunnage::transport::shm
