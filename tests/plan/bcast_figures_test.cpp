// What a broadcast by a window costs.
#include "plan/bcast_figures.hpp"

#include <gtest/gtest.h>

namespace dunnage::plan {
namespace {

TEST(WindowCosts, EachReaderMayCost) {
  constexpr WindowCosts window{100, 0.5, 0.25};
  EXPECT_EQ(window.time(0, 9), 100);
  EXPECT_EQ(window.per_byte(4), 1.5);
  EXPECT_EQ(window.time(1000, 4), 1600);
}

TEST(WindowCosts, BuiltInOnesAreOfAnyNumberOfReaders) {
  constexpr WindowCosts window = BcastFigures().window;
  EXPECT_EQ(window.time(6000, 1), 4000);
  EXPECT_EQ(window.time(6000, 32), 4000);
}

}  // namespace
}  // namespace dunnage::plan
