// Which broadcast is chosen, and by what.
#include "collective/choose.hpp"

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

constexpr auto built_in = network(plan::BcastFigures().other_host);

TEST(Choose, AllThatCanBeTheCheapestFirst) {
  const auto choices = bcast_choices({8, 0, 1 << 20, 0}, built_in);
  ASSERT_EQ(choices.size(), all_bcast_algorithms.size() - 1);  // without the closed ring
  for (std::size_t i = 1; i < choices.size(); ++i) EXPECT_LE(choices[i - 1].seconds, choices[i].seconds);
  for (const auto& one : choices) {
    EXPECT_NE(one.algorithm, BcastAlgorithm::scatter_ring);
    EXPECT_EQ(one.seconds, cost(one.algorithm, {8, 0, 1 << 20, one.segment}, built_in)) << text(one.algorithm);
  }
  EXPECT_EQ(bcast_choices({9, 0, 1 << 20, 0}, built_in).size(), choices.size() - 1) << "9 is no power of two";
}

TEST(Choose, ByTheFiguresOfTheNetwork) {
  const Bcast b{16, 0, 1 << 20, 0};
  // Where only messages cost, the fewest in a row; where only bytes do, those that send none of
  // them twice.
  EXPECT_EQ(choose_bcast(b, network({1e5, 1e4, 1e-6})).algorithm, BcastAlgorithm::binomial);
  EXPECT_NE(choose_bcast(b, network({1, 1, 10})).algorithm, BcastAlgorithm::binomial);
}

TEST(Choose, NanosecondsBecomeSeconds) {
  constexpr LogGP found = network({1000, 500, 0.25});
  EXPECT_DOUBLE_EQ(found.latency, 1e-6);
  EXPECT_DOUBLE_EQ(found.overhead, 5e-7);
  EXPECT_DOUBLE_EQ(found.byte_time, 2.5e-10);
}

}  // namespace
}  // namespace dunnage::collective
