#include "collective/trial.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

using Turn = Trial::Turn;
using Verdict = Trial::Verdict;

/// All turns up to a verdict, with times of ours and theirs.
constexpr int all = 2 * Trial::theirs;
void go_through(Trial& trial, float theirs, float ours) {
  for (int i = 0; i < all; ++i) {
    EXPECT_FALSE(trial.undecided());
    EXPECT_EQ(trial.note(), 0u);
    const auto turn = trial.next();
    EXPECT_EQ(turn == Turn::theirs || turn == Turn::measured_theirs, i < Trial::theirs);
    if (turn == Turn::measured_theirs) trial.took(turn, theirs + static_cast<float>(i));
    if (turn == Turn::measured_ours) trial.took(turn, ours + static_cast<float>(all - i));
  }
  EXPECT_TRUE(trial.undecided());
  EXPECT_NE(trial.note(), 0u);
}

Verdict judged(std::initializer_list<const Trial*> trials) {
  Trial::Judge judge;
  for (const auto* trial : trials) judge.hear(trial->note());
  return judge.verdict();
}

TEST(Trial, TheFasterIsKept) {
  Trial fast, slow;
  go_through(fast, 1.0f, 100.0f);
  go_through(slow, 200.0f, 1.0f);
  EXPECT_EQ(judged({&fast}), Verdict::theirs);
  EXPECT_EQ(judged({&slow}), Verdict::ours);
  EXPECT_EQ(judged({&fast, &slow}), Verdict::ours) << "the slowest rank of each counts: 201 and 101";
}

TEST(Trial, WhatSomeHaveMeasuredIsOneNote) {
  Trial fast, slow, begun;
  go_through(fast, 1.0f, 100.0f);
  go_through(slow, 200.0f, 1.0f);
  Trial::Judge here, there, all, early;
  here.hear(fast.note());
  there.hear(slow.note());
  all.hear(here.note());
  EXPECT_EQ(all.verdict(), Verdict::theirs);
  all.hear(there.note());
  EXPECT_EQ(all.verdict(), Verdict::ours);
  early.hear(fast.note());
  early.hear(begun.note());
  EXPECT_EQ(early.note(), 0u);
}

TEST(Trial, SomeOfOursAreNotMeasured) {
  Trial trial;
  trial.warm_up(6);
  std::vector<Turn> turns;
  while (!trial.undecided()) {
    turns.push_back(trial.next());
    trial.warm_up(1);  // too late
  }
  EXPECT_EQ(std::count(turns.begin(), turns.end(), Turn::ours), 6);
  EXPECT_EQ(std::count(turns.begin(), turns.end(), Turn::measured_ours), Trial::measured);
  EXPECT_EQ(turns.back(), Turn::measured_ours);
}

TEST(Trial, NobodyIsJudgedBeforeAllHaveMeasured) {
  Trial done, begun;
  go_through(done, 1.0f, 2.0f);
  begun.next();
  EXPECT_EQ(judged({&done, &begun}), Verdict::none);
}

TEST(Trial, WhatIsNotFasterGoesBackForGood) {
  Trial trial;
  go_through(trial, 10.0f, 9.9f);
  trial.decide(judged({&trial}));
  EXPECT_EQ(trial.verdict(), Verdict::theirs);
  trial.decide(Verdict::ours);
  EXPECT_EQ(trial.verdict(), Verdict::theirs);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(trial.next(), Turn::theirs);
  EXPECT_FALSE(trial.undecided());
}

TEST(Trial, HalfAMicrosecondIsNoGain) {
  EXPECT_EQ((Trial::Times{5e-6f, 4.6e-6f}.verdict()), Verdict::theirs);
  EXPECT_EQ((Trial::Times{5e-6f, 4.2e-6f}.verdict()), Verdict::ours);
  EXPECT_EQ((Trial::Times{50e-6f, 48e-6f}.verdict()), Verdict::theirs);
  EXPECT_EQ((Trial::Times{50e-6f, 47e-6f}.verdict()), Verdict::ours);
}

TEST(Trial, WhoCouldNotMeasureTheirsKeepsOurs) {
  Trial trial;
  for (int i = 0; i < all; ++i)
    if (const auto turn = trial.next(); turn == Turn::measured_ours) trial.took(turn, 5.0f);
  EXPECT_EQ(judged({&trial}), Verdict::ours);
}

}  // namespace
}  // namespace dunnage::collective
