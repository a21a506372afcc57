#include "collective/asked_trial.hpp"

#include <bit>
#include <vector>

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

constexpr float us = 1e-6f;

AskedTrial::Note slowest_of(const std::vector<AskedTrial::Note>& notes) {
  AskedTrial::Note all{0, 0, 0, 0};
  for (const auto& note : notes) {
    all.ours = std::max(all.ours, note.ours);
    all.theirs = std::max(all.theirs, note.theirs);
    all.least = std::max(all.least, note.least);
    all.refuses = std::max(all.refuses, note.refuses);
  }
  return all;
}

/// Ranks that make the calls of one kind together.
struct Ranks {
  /// Times of a call in microseconds.
  Ranks(std::size_t number, float ours_us, float theirs_us)
      : trials(number), ours(ours_us * us), theirs(theirs_us * us) {}
  std::vector<AskedTrial> trials;
  float ours, theirs, least = 10 * us;  // seconds
  std::vector<float> slower = std::vector<float>(trials.size(), 1);
  bool possible = true, refuses = false;
  unsigned calls = 0, by_the_mpi = 0, questions = 0;

  /// Returns whose the call was. All ranks must take the same turn.
  AskedTrial::Who call(bool waits = true) {
    const auto turn = trials[0].next(waits);
    EXPECT_TRUE(!std::has_single_bit(++calls) || turn.asked);
    questions += turn.asked;
    auto who = turn.who;
    for (std::size_t r = 1; r < trials.size(); ++r) {
      const auto other = trials[r].next(waits);
      EXPECT_EQ(other.asked, turn.asked);
      EXPECT_EQ(other.who, turn.who);
      EXPECT_EQ(other.measured, turn.measured);
    }
    if (turn.asked) {
      std::vector<AskedTrial::Note> notes;
      for (std::size_t r = 0; r < trials.size(); ++r) notes.push_back(trials[r].note(least, refuses && r == 0));
      for (auto& trial : trials) trial.learn(possible, slowest_of(notes));
      who = trials[0].chosen();
    }
    for (std::size_t r = 0; turn.measured && r < trials.size(); ++r)
      trials[r].took(who, (who == AskedTrial::ours ? ours : theirs) * slower[r]);
    by_the_mpi += who == AskedTrial::theirs;
    return who;
  }
  AskedTrial::Who calls_of(int number) {
    for (int i = 1; i < number; ++i) call();
    return call();
  }
};

TEST(AskedTrial, TheMpiIsNotTriedIfItCannotBeFaster) {
  Ranks ranks(3, 15, 1);  // the MPI's copies do not allow 1 us
  EXPECT_EQ(ranks.calls_of(1000), AskedTrial::ours);
  EXPECT_EQ(ranks.by_the_mpi, 0u);
}

TEST(AskedTrial, TheFasterIsChosenByTheSlowestRank) {
  Ranks ranks(3, 300, 100);
  ranks.calls_of(64);
  EXPECT_EQ(ranks.by_the_mpi, AskedTrial::tried + 1) << "three calls, and the one with the question";
  EXPECT_EQ(ranks.calls_of(100), AskedTrial::theirs) << "ours were far slower";
  EXPECT_EQ(ranks.trials[2].chosen(), AskedTrial::theirs);
  EXPECT_NEAR(ranks.trials[0].latest(AskedTrial::theirs), 100'000, 1);
}

TEST(AskedTrial, OneSlowRankCounts) {
  Ranks ranks(2, 100, 110);
  ranks.slower[1] = 5;
  ranks.calls_of(64);
  EXPECT_TRUE(ranks.trials[0].compared());
  EXPECT_NEAR(ranks.trials[0].latest(AskedTrial::ours), 500'000, 1);
  EXPECT_EQ(ranks.trials[0].chosen(), AskedTrial::ours);
}

TEST(AskedTrial, WhatIsFarSlowerIsTriedOnce) {
  Ranks ranks(2, 100, 1000);
  EXPECT_EQ(ranks.calls_of(100'000), AskedTrial::ours);
  EXPECT_EQ(ranks.by_the_mpi, AskedTrial::tried);
}

TEST(AskedTrial, WhatIsNearIsTriedAgain) {
  Ranks ranks(2, 100, 120);
  ranks.calls_of(256);
  EXPECT_EQ(ranks.by_the_mpi, 3 * AskedTrial::tried);
  ranks.theirs = 50 * us;  // the program has changed
  ranks.calls_of(256);
  EXPECT_EQ(ranks.trials[0].chosen(), AskedTrial::theirs);
  ranks.theirs = 300 * us;
  ranks.calls_of(512);
  EXPECT_EQ(ranks.trials[0].chosen(), AskedTrial::ours);
}

TEST(AskedTrial, WhileTheMpiIsChosenTheRanksAskOften) {
  Ranks ranks(2, 300, 60);
  EXPECT_EQ(ranks.calls_of(70), AskedTrial::theirs);
  ranks.theirs = 900 * us;  // the layout has changed, which the kind of the calls does not tell
  EXPECT_EQ(ranks.calls_of(2 * AskedTrial::often), AskedTrial::ours);
  const auto asked = ranks.questions;
  ranks.calls_of(400);
  EXPECT_EQ(ranks.questions - asked, 2u) << "at calls 128 and 256";
}

TEST(AskedTrial, LayoutsThatTakeTurnsAreJudgedByTheSlowOne) {
  Ranks ranks(2, 300, 60);
  for (int i = 0; i < 200; ++i) {
    ranks.theirs = i % 2 ? 60 * us : 900 * us;
    ranks.call();
  }
  EXPECT_EQ(ranks.trials[0].chosen(), AskedTrial::ours);
  EXPECT_LE(ranks.by_the_mpi, AskedTrial::tried);
}

TEST(AskedTrial, ALittleFasterIsNotEnough) {
  Ranks ranks(2, 100, 95);
  ranks.calls_of(64);
  EXPECT_TRUE(ranks.trials[0].compared());
  EXPECT_EQ(ranks.trials[0].chosen(), AskedTrial::ours);
}

TEST(AskedTrial, OneRankCanRefuse) {
  Ranks ranks(3, 300, 100);
  ranks.refuses = true;
  EXPECT_EQ(ranks.calls_of(1000), AskedTrial::ours);
  EXPECT_EQ(ranks.by_the_mpi, 0u);
}

TEST(AskedTrial, WhereARankRefusesTimesOfBeforeAreForgotten) {
  Ranks ranks(2, 30, 50);
  ranks.calls_of(64);
  EXPECT_TRUE(ranks.trials[0].compared());
  ranks.ours = 2000 * us;  // the calls have more data now
  ranks.refuses = true;
  const auto by_the_mpi = ranks.by_the_mpi;
  EXPECT_EQ(ranks.calls_of(1000), AskedTrial::ours);
  // Before the ranks asked again, three more calls were trials.
  EXPECT_LE(ranks.by_the_mpi, by_the_mpi + AskedTrial::tried);
  EXPECT_FALSE(ranks.trials[1].compared());
}

TEST(AskedTrial, AKindThatMovesToHostMemoryIsTheMpis) {
  Ranks ranks(2, 300, 100);
  ranks.calls_of(5);
  ranks.possible = false;
  EXPECT_EQ(ranks.calls_of(20), AskedTrial::theirs);
  ranks.possible = true;
  EXPECT_EQ(ranks.calls_of(39), AskedTrial::ours);
  EXPECT_EQ(ranks.calls, 64u);
  EXPECT_FALSE(ranks.trials[0].compared()) << "times of before have been forgotten";
}

TEST(AskedTrial, CallsThatWaitForNobodyAreNotUsed) {
  Ranks ranks(2, 300, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ranks.call(false), AskedTrial::ours);
  EXPECT_FALSE(ranks.trials[0].compared());
}

}  // namespace
}  // namespace dunnage::collective
