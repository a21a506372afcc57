// When a time of `dunnage tune` is known, and how many rounds a case gets.
#include "tune/known.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace bench::tune {
namespace {

std::vector<double> ascending(int count) {
  std::vector<double> values;
  for (int i = 1; i <= count; ++i) values.push_back(i);
  return values;
}

TEST(Known, TheEndsAreThoseOfTheBinomialDistribution) {
  struct Row {
    int count;
    double low, high;
  };
  // by exact sums of the distribution, of the values 1 to n
  for (const auto& [count, low, high] :
       {Row{1, 1, 1}, {3, 1, 3}, {9, 1, 5}, {11, 1, 6}, {14, 1, 7}, {40, 6, 16}, {100, 18, 33}, {500, 109, 142}}) {
    const auto found = quartile_interval(ascending(count));
    EXPECT_EQ(found.low, low) << count;
    EXPECT_EQ(found.high, high) << count;
  }
}

TEST(Known, TheIntervalHasTheQuartileAsOftenAsItSays) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> heavy(0, 1);
  const double quartile = std::exp(-0.6744898);
  for (const int count : {12, 30, 100}) {
    int missed = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<double> samples;
      for (int i = 0; i < count; ++i) samples.push_back(heavy(random));
      const auto found = quartile_interval(samples);
      missed += found.low > quartile || found.high < quartile;
    }
    EXPECT_LT(missed, 2000 * 0.12) << count;
    EXPECT_GT(missed, 2000 * 0.02) << count << ": an interval that is never wrong is too wide";
  }
}

TEST(Known, SlowSamplesDoNotCountUnlessTheyAreMost) {
  std::vector<double> samples(20, 100.0);
  for (int i = 0; i < 8; ++i) samples[static_cast<std::size_t>(i)] = 1000;
  EXPECT_TRUE(known({&samples}, 1.1));
  for (int i = 0; i < 18; ++i) samples[static_cast<std::size_t>(i)] = 1000.0 + 100 * i;
  EXPECT_FALSE(known({&samples}, 1.1));
}

TEST(Known, WhoIsFasterMayBeKnownBeforeThePrices) {
  std::vector<double> about_100, about_110, about_200;
  for (int i = 0; i < 9; ++i) {
    about_100.push_back(100 + 4 * i);  // the interval is 100 to 116
    about_110.push_back(110 + 4 * i);
    about_200.push_back(200 + 4 * i);
  }
  EXPECT_FALSE(known({&about_100}, 1.1));
  EXPECT_FALSE(known({&about_100, &about_110}, 1.1));
  EXPECT_TRUE(known({&about_100, &about_200}, 1.1));
  EXPECT_TRUE(known({&about_200, &about_100}, 1.1));
}

TEST(Rounds, GoOnForWhatIsNotKnown) {
  const Rounds rounds;
  const std::vector<double> quiet(9, 1.0);
  std::vector<double> noisy;
  for (int i = 0; i < 500; ++i) noisy.push_back(i < 100 ? 1 + i : 1000 + i);
  const std::vector<double> early(noisy.begin(), noisy.begin() + 20);
  EXPECT_TRUE(needs_round(rounds, 8, false, {&quiet}, 1.1)) << "too few say nothing";
  EXPECT_FALSE(needs_round(rounds, 9, false, {&quiet}, 1.1));
  EXPECT_TRUE(needs_round(rounds, 20, false, {&early}, 1.1));
  EXPECT_TRUE(needs_round(rounds, 20, false, {&quiet, &early}, 1.1)) << "each series must be known";
  EXPECT_FALSE(needs_round(rounds, 500, false, {&noisy}, 1.1)) << "some end there must be";
}

TEST(Rounds, AreFewForWhatWasKnown) {
  const Rounds rounds;
  const std::vector<double> quiet(5, 1.0);
  EXPECT_TRUE(needs_round(rounds, 0, true, {}, 1.1));
  EXPECT_TRUE(needs_round(rounds, 4, true, {&quiet}, 1.1));
  EXPECT_FALSE(needs_round(rounds, 5, true, {&quiet}, 1.1));
}

TEST(Places, AreReadFromText) {
  using Places = std::vector<bool>;
  EXPECT_EQ(named_places("", 3), Places(3));
  EXPECT_EQ(named_places("0", 2), (Places{true, false}));
  EXPECT_EQ(named_places("1-2,4", 6), (Places{false, true, true, false, true, false}));
  EXPECT_EQ(named_places("0-9999999", 2), Places(2, true)) << "the last cases may be left out in a slow launch";
  for (const auto* wrong : {"a", "1-", "1;2", "-1", "1 2"}) EXPECT_THROW(named_places(wrong, 3), std::invalid_argument);
}

}  // namespace
}  // namespace bench::tune
