// Rings, with the two ends in turn and in two threads.
#include "transport/shm/edge_ring.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace dunnage::transport::shm;

constexpr std::int64_t room = 256;

class ByteRingTest : public testing::Test {
 protected:
  ByteRing ring;
  char bytes[room];
  ByteRingWriter writer{&ring, bytes, room};
  ByteRingReader reader{&ring, bytes, room};

  void write(std::int64_t bytes, char value) {
    std::memset(writer.place(), value, static_cast<std::size_t>(bytes));
    writer.wrote(bytes);
    writer.publish();
  }
  void read(std::int64_t bytes) {
    reader.took(bytes);
    reader.release();
  }
};

TEST_F(ByteRingTest, WhatIsNotPublishedIsNotThere) {
  writer.wrote(8);
  EXPECT_EQ(reader.there(), 0);
  writer.publish();
  EXPECT_EQ(reader.there(), 8);
}

TEST_F(ByteRingTest, IsFullAfterAllItsBytes) {
  EXPECT_EQ(writer.room(), room);
  write(room, 1);
  EXPECT_EQ(writer.room(), 0);
  EXPECT_EQ(reader.there(), room);
  reader.took(64);
  EXPECT_EQ(writer.room(), 0) << "before the release";
  reader.release();
  EXPECT_EQ(writer.room(), 64);
}

TEST_F(ByteRingTest, BytesStayInOnePieceUpToTheEnd) {
  write(200, 1);
  read(100);
  EXPECT_EQ(writer.room(), 56);
  write(56, 2);
  EXPECT_EQ(writer.room(), 100);
  EXPECT_EQ(reader.there(), 156);
}

TEST_F(ByteRingTest, BeginsAgainWhenAllHasBeenRead) {
  const auto* first = writer.place();
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(writer.room(), room);
    EXPECT_EQ(writer.place(), first);
    write(40, static_cast<char>(round));
    EXPECT_EQ(writer.room(), room - 40);
    ASSERT_EQ(reader.there(), 40);
    EXPECT_EQ(*reader.place(), round);
    read(40);
    EXPECT_EQ(reader.there(), 0);
  }
}

constexpr std::size_t edges = 2;

class EdgeRingTest : public testing::Test {
 protected:
  std::vector<char> storage = std::vector<char>(static_cast<std::size_t>(edge_ring_size(edges, room)) + 64);
  char* memory = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(storage.data()) + 63) / 64 * 64);
  EdgeRingWriter writer{memory, edges, room};
  EdgeRingReader reader{memory, edges, room};
};

TEST_F(EdgeRingTest, SizesAreThoseOfTheExchange) {
  writer.resize(std::vector<std::int64_t>{1, 2});
  EXPECT_FALSE(reader.announced(1));
  writer.announce(1);
  ASSERT_TRUE(reader.announced(1));
  reader.begin(1);
  EXPECT_TRUE(writer.begun(1));
  // The writer is one exchange ahead.
  writer.resize(std::vector<std::int64_t>{3, 4});
  writer.announce(2);
  EXPECT_EQ(reader.sizes(1)[1], 2);
  EXPECT_EQ(reader.sizes(2)[1], 4);
  EXPECT_FALSE(writer.begun(2));
  reader.begin(2);
  writer.announce(3);
  EXPECT_EQ(reader.sizes(3)[0], 3) << "they have not changed";
}

TEST_F(EdgeRingTest, AFailureIsThatOfOneExchange) {
  writer.fail(1);
  EXPECT_TRUE(reader.failed(1));
  EXPECT_FALSE(reader.failed(2));
  EXPECT_FALSE(reader.failed(3));
}

TEST_F(EdgeRingTest, TwoThreadsMoveExchangesOfAllSizes) {
  constexpr std::uint64_t exchanges = 300;
  const auto sizes_of = [](std::uint64_t exchange) {
    std::mt19937 rng(static_cast<unsigned>(exchange));
    return std::vector<std::int64_t>{static_cast<std::int64_t>(rng() % 900), static_cast<std::int64_t>(rng() % 3)};
  };
  const auto byte = [](std::uint64_t exchange, std::int64_t i) {
    return static_cast<char>(exchange * 31 + static_cast<std::uint64_t>(i));
  };
  std::thread sender([&] {
    for (std::uint64_t exchange = 1; exchange <= exchanges; ++exchange) {
      const auto sizes = sizes_of(exchange / 2);  // every other exchange has those of the one before
      if (exchange % 2 == 0 || exchange == 1) writer.resize(sizes);
      writer.announce(exchange);
      auto& bytes = writer.bytes();
      const auto all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
      for (std::int64_t i = 0; i < all;) {
        const auto n = std::min(bytes.room(), all - i);
        for (std::int64_t k = 0; k < n; ++k) bytes.place()[k] = byte(exchange, i + k);
        bytes.wrote(n);
        bytes.publish();
        if (n == 0) sched_yield();
        i += n;
      }
      while (!writer.begun(exchange)) sched_yield();
    }
  });
  std::int64_t wrong = 0;
  for (std::uint64_t exchange = 1; exchange <= exchanges; ++exchange) {
    reader.begin(exchange);
    while (!reader.announced(exchange)) sched_yield();
    const auto sizes = reader.sizes(exchange);
    const auto expected = sizes_of(exchange / 2);
    wrong += !std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end());
    const auto all = std::accumulate(expected.begin(), expected.end(), std::int64_t{0});
    auto& bytes = reader.bytes();
    for (std::int64_t i = 0; i < all;) {
      const auto n = std::min(bytes.there(), all - i);
      for (std::int64_t k = 0; k < n; ++k) wrong += bytes.place()[k] != byte(exchange, i + k);
      bytes.took(n);
      bytes.release();
      if (n == 0) sched_yield();
      i += n;
    }
  }
  sender.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
