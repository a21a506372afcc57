// A block of slots of nonblocking exchanges, with the two ends in turn and in two threads.
#include "transport/shm/exchange_slot.hpp"

#include <gtest/gtest.h>

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
  SlotBlock block;
  PostedExchange what;
};

TEST_F(ExchangeSlotTest, WhatIsPostedIsThere) {
  EXPECT_FALSE(take(block, 1, what));
  post(block, 1, holding("some data"));
  EXPECT_FALSE(take(block, 2, what)) << "another exchange";
  ASSERT_TRUE(take(block, 1, what));
  EXPECT_EQ(text_of(what), "some data");
}

TEST_F(ExchangeSlotTest, APublicationIsToldWhole) {
  PostedExchange published;
  published.data = PostedExchange::Data::published;
  published.size = 1 << 20;  // nothing of it is here
  published.begin = 2;
  published.serial = 3;
  published.place = 64;
  post(block, 1, published);
  ASSERT_TRUE(take(block, 1, what));
  EXPECT_EQ(what.data, PostedExchange::Data::published);
  EXPECT_EQ(what.size, 1 << 20);
  EXPECT_EQ(what.begin, 2u);
  EXPECT_EQ(what.serial, 3u);
  EXPECT_EQ(what.place, 64);
}

TEST_F(ExchangeSlotTest, EachExchangeOfABlockHasASlot) {
  for (const std::uint64_t first : {std::uint64_t{1}, 3 * SlotBlock::count + 1}) {
    SlotBlock one;
    for (std::uint64_t exchange = first; exchange < first + SlotBlock::count; ++exchange)
      post(one, exchange, holding(std::to_string(exchange)));
    for (std::uint64_t exchange = first; exchange < first + SlotBlock::count; ++exchange) {
      ASSERT_TRUE(take(one, exchange, what));
      EXPECT_EQ(text_of(what), std::to_string(exchange));
    }
  }
}

TEST_F(ExchangeSlotTest, TwoThreads) {
  for (int round = 0; round < 500; ++round) {
    SlotBlock one;
    const auto text = [&](std::uint64_t exchange) {
      return std::string((exchange * 13 + static_cast<std::uint64_t>(round)) % 200, static_cast<char>('a' + exchange));
    };
    std::thread writer([&] {
      for (std::uint64_t exchange = 1; exchange <= SlotBlock::count; ++exchange)
        post(one, exchange, holding(text(exchange)));
    });
    for (std::uint64_t exchange = 1; exchange <= SlotBlock::count; ++exchange) {
      while (!take(one, exchange, what)) std::this_thread::yield();
      ASSERT_EQ(text_of(what), text(exchange));
    }
    writer.join();
  }
}

}  // namespace
}  // namespace dunnage::transport::shm
