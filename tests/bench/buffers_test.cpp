// Whether data that did not arrive, or arrived elsewhere, would be noticed.
#include "noncontiguous_send/buffers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t n = 100;
const std::vector<Shape> shapes{Shape::contiguous, Shape::strided};

std::size_t index(Shape shape, std::size_t i) { return shape == Shape::strided ? 2 * i : i; }

/// What a right exchange leaves.
void deliver(const Array& from, const Array& to, Shape sent, Shape taken) {
  for (std::size_t i = 0; i < n; ++i) to.data()[index(taken, i)] = from.data()[index(sent, i)];
}

TEST(Buffers, ArraysAreAlignedAndTouched) {
  for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(9), n}) {
    const Array array(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % 64, 0u);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(array.data()[i], 0);
  }
}

TEST(Buffers, WhatArrivedIsRight) {
  const Array from(2 * n), to(2 * n);
  for (const Shape sent : shapes)
    for (const Shape taken : shapes) {
      fill(from, 7);
      poison(to);
      EXPECT_FALSE(received(to, sent, taken, 7));
      deliver(from, to, sent, taken);
      EXPECT_TRUE(received(to, sent, taken, 7));
    }
}

TEST(Buffers, EveryPlaceCounts) {
  const Array from(2 * n), to(2 * n);
  for (const Shape taken : shapes)
    for (std::size_t i = 0; i < 2 * n; ++i) {
      fill(from, 1);
      poison(to);
      deliver(from, to, Shape::strided, taken);
      to.data()[i] = from.data()[i] + 0.5;  // data, or a gap
      EXPECT_FALSE(received(to, Shape::strided, taken, 1)) << i;
    }
}

TEST(Buffers, DataOfAnotherExchangeIsNotRight) {
  const Array from(2 * n), to(2 * n);
  fill(from, 1);
  poison(to);
  deliver(from, to, Shape::strided, Shape::contiguous);
  EXPECT_FALSE(received(to, Shape::strided, Shape::contiguous, 2));
  EXPECT_FALSE(received(to, Shape::contiguous, Shape::contiguous, 1));
}

}  // namespace
}  // namespace bench
