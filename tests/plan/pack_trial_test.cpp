#include "plan/pack_trial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace {

using dunnage::plan::message_rules;
using dunnage::plan::Packer;
using dunnage::plan::packing_rules;
using dunnage::plan::PackTrial;
using Times = std::map<Packer, double>;

/// A call, as the hooks make it. Returns who did it.
Packer call(PackTrial& trial, const Times& times, std::uint32_t number = 0) {
  if (trial.leaves_to_library()) return Packer::library;
  const auto turn = trial.next(number);
  if (turn.measured) trial.took(turn, times.at(turn.packer));
  return turn.packer;
}

double spend(PackTrial& trial, const Times& times, int calls) {
  double spent = 0;
  for (int i = 0; i < calls; ++i) spent += times.at(call(trial, times, static_cast<std::uint32_t>(i)));
  return spent;
}

constexpr int first_calls = 20;  // after them the choice is made

TEST(PackTrial, ChoosesTheFastest) {
  for (const auto best : {Packer::library, Packer::cached, Packer::streamed})
    for (const auto predicted : {Packer::library, Packer::cached, Packer::streamed}) {
      Times times{{Packer::library, 1500}, {Packer::cached, 1400}, {Packer::streamed, 1450}};
      times[best] = 1000;
      PackTrial trial(predicted, true);
      EXPECT_EQ(call(trial, times), predicted);
      spend(trial, times, first_calls - 1);
      EXPECT_TRUE(trial.found().settled);
      for (int i = 0; i < PackTrial::least_pause - 1; ++i) EXPECT_EQ(call(trial, times), best) << i;
    }
}

TEST(PackTrial, OthersAreToldWhatItHasChosen) {
  using Told = PackTrial::Told;
  std::atomic<std::uint32_t> place{0};
  const auto told = [&] { return Told{place.load()}; };
  const Times gains{{Packer::library, 1500}, {Packer::cached, 1000}};
  const Times loses{{Packer::library, 1000}, {Packer::cached, 9000}};
  PackTrial trial(Packer::library, false, message_rules);
  trial.tell_in(&place, {3, 4});
  EXPECT_EQ(trial.other_rank(), (PackTrial::Names{3, 4}));
  for (int i = 0; !trial.settled(); ++i) {
    EXPECT_EQ(told(), Told::nothing);
    call(trial, gains, static_cast<std::uint32_t>(i));
  }
  EXPECT_EQ(told(), Told::ours);
  for (int i = 0; i < PackTrial::looks; ++i) call(trial, loses);
  EXPECT_EQ(told(), Told::library) << "a mixture";
}

/// A trial of messages that has ended, whose rank tells others of it.
struct Ended {
  std::atomic<std::uint32_t> place{0};
  PackTrial trial{Packer::library, false, message_rules};
  explicit Ended(const Times& times) {
    trial.tell_in(&place, {1, 2});
    for (int i = 0; !trial.settled(); ++i) call(trial, times, static_cast<std::uint32_t>(i));
  }
  PackTrial::Told told() const { return PackTrial::Told{place.load()}; }
};
const Times close{{Packer::library, 1000}, {Packer::cached, 990 - message_rules.own_call}};

TEST(PackTrial, TheOtherRankIsAskedIfTheCandidatesAreClose) {
  using Told = PackTrial::Told;
  for (const auto answer : {Told::ours, Told::library}) {
    Ended ended(close);
    auto& trial = ended.trial;
    EXPECT_TRUE(trial.asks());
    EXPECT_EQ(ended.told(), Told::nothing);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(trial.leaves_to_library()) << "a message must ask";
      EXPECT_FALSE(trial.next().measured);
      EXPECT_EQ(trial.agree(Packer::library, Told::nothing), Packer::library);
    }
    EXPECT_EQ(trial.agree(Packer::library, answer), answer == Told::ours ? Packer::cached : Packer::library);
    EXPECT_FALSE(trial.asks());
    EXPECT_EQ(ended.told(), answer);
    EXPECT_EQ(trial.leaves_to_library(), answer == Told::library);
    spend(trial, close, 10'000);
    EXPECT_EQ(ended.told(), answer) << "what is measured later makes no difference";
  }
}

TEST(PackTrial, TheOtherRankIsNotAskedForEver) {
  Ended ended(close);
  for (int i = 0; i < PackTrial::most_asked; ++i) {
    EXPECT_TRUE(ended.trial.asks());
    EXPECT_EQ(ended.trial.agree(Packer::library, PackTrial::Told::nothing), Packer::library);
  }
  EXPECT_FALSE(ended.trial.asks());
  EXPECT_EQ(ended.told(), PackTrial::Told::library);
  EXPECT_TRUE(ended.trial.leaves_to_library());
}

TEST(PackTrial, WhatTheOtherRankLeavesIsLeft) {
  using Told = PackTrial::Told;
  Ended ended({{Packer::library, 2000}, {Packer::cached, 1000}});
  auto& trial = ended.trial;
  for (int i = 0; i < 10 * PackTrial::most_left; ++i)  // of two peers, one packs
    EXPECT_EQ(trial.agree(Packer::cached, i % 2 == 0 ? Told::library : Told::ours),
              i % 2 == 0 ? Packer::library : Packer::cached);
  EXPECT_EQ(trial.choice(), Packer::cached);
  for (int i = 0; i < PackTrial::most_left; ++i) {
    EXPECT_EQ(ended.told(), Told::ours);
    EXPECT_EQ(trial.agree(Packer::cached, Told::library), Packer::library);
  }
  EXPECT_EQ(ended.told(), Told::library) << "after so many messages in a row";
  EXPECT_TRUE(trial.leaves_to_library());
}

TEST(PackTrial, ALookDoesAsTheOtherRankDoes) {
  using Told = PackTrial::Told;
  const Times gains{{Packer::library, 2000}, {Packer::cached, 1000}};
  for (const auto told : {Told::nothing, Told::ours, Told::library}) {
    Ended ended(gains);
    auto& trial = ended.trial;
    int looks = 0, of_library = 0;
    for (std::uint32_t number = 0; number < 40; ++number) {
      const auto turn = trial.next(number);
      if (!turn.measured) break;
      ++looks;
      const auto agreed = trial.agree(turn, told);
      EXPECT_EQ(agreed.measured, agreed.packer == Packer::cached);
      of_library += agreed.packer == Packer::library;
      if (agreed.measured) trial.took(agreed, 1000);
    }
    EXPECT_EQ(trial.choice(), Packer::cached);
    EXPECT_EQ(of_library, told == Told::ours ? 0 : told == Told::library ? PackTrial::looks : looks - PackTrial::looks);
    if (told == Told::nothing)
      EXPECT_GT(looks, PackTrial::looks) << "the other rank may be trying";
    else
      EXPECT_EQ(looks, PackTrial::looks);
  }
}

TEST(PackTrial, WhoseTurnItIsCountsUntilTheChoiceIsMade) {
  PackTrial trial(Packer::library, false, message_rules);
  EXPECT_EQ(trial.agree(Packer::cached, PackTrial::Told::nothing), Packer::cached);
  EXPECT_EQ(trial.agree(Packer::cached, PackTrial::Told::ours), Packer::cached);
  EXPECT_EQ(trial.agree(Packer::cached, PackTrial::Told::library), Packer::library);
  EXPECT_FALSE(trial.settled());
}

TEST(PackTrial, OthersAreToldThatItTriesAgain) {
  std::atomic<std::uint32_t> place{0};
  PackTrial trial(Packer::library, false, message_rules);
  trial.tell_in(&place, {});
  const Times before{{Packer::library, 1000}, {Packer::cached, 2000}};
  const Times after{{Packer::library, 9000}, {Packer::cached, 2000}};
  for (int i = 0; !trial.settled(); ++i) call(trial, before, static_cast<std::uint32_t>(i));
  EXPECT_EQ(PackTrial::Told{place.load()}, PackTrial::Told::library);
  int calls = 0;
  while (trial.settled() && ++calls < 10'000) call(trial, after, static_cast<std::uint32_t>(calls));
  EXPECT_EQ(PackTrial::Told{place.load()}, PackTrial::Told::nothing);
}

TEST(PackTrial, ChoosesSoonIfOneIsClearlyTheFastest) {
  for (const auto best : {Packer::library, Packer::cached, Packer::streamed})
    for (const auto predicted : {Packer::library, Packer::cached, Packer::streamed}) {
      Times times{{Packer::library, 13000}, {Packer::cached, 12000}, {Packer::streamed, 14000}};
      times[best] = 10000;
      PackTrial trial(predicted, true);
      trial.took(trial.next(), 50000);  // the first touch of the pages
      spend(trial, times, 8);           // the last one by the choice
      EXPECT_TRUE(trial.settled());
      EXPECT_EQ(trial.choice(), best);
    }
}

TEST(PackTrial, WhoWasBehindIsMeasuredAgainLater) {
  PackTrial trial(Packer::cached, false);
  Times times{{Packer::library, 13000}, {Packer::cached, 10000}};
  spend(trial, times, first_calls);
  EXPECT_EQ(trial.choice(), Packer::cached);
  times[Packer::library] = 8000;
  spend(trial, times, 1000);
  EXPECT_EQ(trial.choice(), Packer::library);
}

TEST(PackTrial, TheLibraryWinsIfTheGainIsSmall) {
  PackTrial trial(Packer::cached, false);
  const Times times{{Packer::library, 1000}, {Packer::cached, 1000 / 1.02 - packing_rules.own_call}};
  spend(trial, times, first_calls);
  EXPECT_EQ(trial.found().choice, Packer::library);
}

TEST(PackTrial, OurCallsCostMoreThanTheyTake) {
  PackTrial trial(Packer::cached, false);
  const Times times{{Packer::library, 50}, {Packer::cached, 25}};
  spend(trial, times, first_calls);
  EXPECT_EQ(trial.found().choice, Packer::library);
}

TEST(PackTrial, OneCallThatTakesLongChangesNothing) {
  const Times times{{Packer::library, 1200}, {Packer::cached, 1000}};
  for (int disturbed = 0; disturbed < first_calls; ++disturbed) {
    PackTrial trial(Packer::library, false);
    for (int i = 0; i < first_calls; ++i) {
      const auto turn = trial.next();
      if (turn.measured) trial.took(turn, i == disturbed ? 7000 : times.at(turn.packer));
    }
    EXPECT_EQ(trial.found().choice, Packer::cached) << disturbed;
  }
}

TEST(PackTrial, ASlowCandidateIsNotTriedAgainAndAgain) {
  PackTrial trial(Packer::cached, true);
  const Times times{{Packer::library, 100000}, {Packer::cached, 1000}, {Packer::streamed, 3000}};
  int of_library = 0, of_streamed = 0;
  for (int i = 0; i < 100000; ++i) {
    const auto who = call(trial, times);
    of_library += who == Packer::library;
    of_streamed += who == Packer::streamed;
  }
  EXPECT_EQ(of_library, 1);
  EXPECT_EQ(of_streamed, 2);
}

TEST(PackTrial, LaterMeasurementsCostLittle) {
  for (const double other : {1.1, 1.2, 1.5, 1.9}) {
    PackTrial trial(Packer::library, true);
    const Times times{{Packer::library, 1e4 * other}, {Packer::cached, 1e4}, {Packer::streamed, 1e4 * other}};
    spend(trial, times, first_calls);
    constexpr int calls = 1000000;
    EXPECT_LT(spend(trial, times, calls), 1.006 * 1e4 * calls) << other;
  }
}

TEST(PackTrial, FollowsAProgramThatBehavesOtherwise) {
  PackTrial trial(Packer::library, true);
  Times times{{Packer::library, 2e4}, {Packer::cached, 1e4}, {Packer::streamed, 1.5e4}};
  spend(trial, times, 1000);
  EXPECT_EQ(trial.found().choice, Packer::cached);
  times = {{Packer::library, 5e4}, {Packer::cached, 8e4}, {Packer::streamed, 4e4}};
  spend(trial, times, 10000);
  EXPECT_EQ(trial.found().choice, Packer::streamed);
  times = {{Packer::library, 3e4}, {Packer::cached, 8e4}, {Packer::streamed, 4e4}};
  spend(trial, times, 10000);
  EXPECT_EQ(trial.found().choice, Packer::library);
}

TEST(PackTrial, ChoosesRightlyAmongNoise) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.1);
  int right = 0;
  constexpr int trials = 1000;
  for (int i = 0; i < trials; ++i) {
    PackTrial trial(Packer::library, false);
    for (int k = 0; k < first_calls; ++k) {
      const auto turn = trial.next();
      if (turn.measured) trial.took(turn, (turn.packer == Packer::library ? 12500 : 10000) * noise(random));
    }
    right += trial.found().choice == Packer::cached;
  }
  EXPECT_GT(right, trials * 95 / 100);
}

TEST(PackTrial, OnlyCandidatesAreTried) {
  PackTrial trial(Packer::cached, false);
  const Times times{{Packer::library, 1000}, {Packer::cached, 900}};
  spend(trial, times, 5000);  // at() throws for another one
  EXPECT_EQ(trial.found().nanoseconds[std::size_t(Packer::streamed)], 0);
}

/// The first call finds its data in the caches, and the others do not.
TEST(PackTrial, ACandidateThatLeftBecauseOfALuckyCallComesBack) {
  PackTrial trial(Packer::cached, false);
  for (int i = 0; i < first_calls; ++i) {
    const bool lucky = i == 0;
    call(trial, {{Packer::library, 7000}, {Packer::cached, lucky ? 800 : 9000}});
  }
  EXPECT_TRUE(trial.settled());
  EXPECT_EQ(trial.choice(), Packer::library);
}

constexpr int first_messages = 30;

TEST(PackTrial, TheMpiHasMessagesIfTheGainIsSmall) {
  for (const auto predicted : {Packer::library, Packer::cached}) {
    PackTrial trial(predicted, false, message_rules);
    spend(trial, {{Packer::library, 1000}, {Packer::cached, 980}}, first_messages);
    EXPECT_TRUE(trial.settled());
    EXPECT_EQ(trial.choice(), Packer::library);
    PackTrial clear(predicted, false, message_rules);
    spend(clear, {{Packer::library, 10'000}, {Packer::cached, 9000}}, first_messages);
    EXPECT_EQ(clear.choice(), Packer::cached);
  }
}

/// What Dunnage does before and after is more than short messages gain.
TEST(PackTrial, TheMpiHasShortMessagesThatGainLessThanDunnageCosts) {
  for (const double gain : {0.9, 1.2}) {
    PackTrial trial(Packer::library, false, message_rules);
    spend(trial, {{Packer::library, 1000}, {Packer::cached, 1000 / 1.03 - gain * message_rules.own_call}},
          first_messages);
    EXPECT_EQ(trial.choice(), gain < 1 ? Packer::library : Packer::cached) << gain;
  }
}

TEST(PackTrial, APeerThatIsLateNowAndThenChangesNothing) {
  constexpr double late = 20000;
  int right = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::minstd_rand random(seed);
    PackTrial trial(Packer::library, false, message_rules);
    for (std::uint32_t i = 0; i < first_messages; ++i) {
      const double wait = random() % 4 == 0 ? late : 0;
      call(trial, {{Packer::library, 1000 + wait}, {Packer::cached, 700 + wait}}, 1000 * seed + i);
    }
    right += trial.choice() == Packer::cached;
  }
  EXPECT_GE(right, 185);
}

/// Who takes which turn must not follow a period of the program: here each second message waits.
TEST(PackTrial, AProgramWithAPeriodChangesNothing) {
  int wrong = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    PackTrial trial(Packer::library, false, message_rules);
    for (std::uint32_t i = 0; i < first_messages; ++i) {
      const double time = i % 2 == 0 ? 1000 : 1100;
      call(trial, {{Packer::library, time}, {Packer::cached, 0.7 * time}}, 1000 * seed + i);
    }
    wrong += trial.choice() != Packer::cached;
  }
  EXPECT_EQ(wrong, 0);
}

/// Both sides of a message, and how long it takes them. Returns their choices.
std::array<Packer, 2> both_sides(std::uint32_t first, int messages,
                                 const std::function<std::array<double, 2>(bool packs, bool unpacks)>& times) {
  PackTrial sender(Packer::library, false, message_rules), receiver(Packer::cached, false, message_rules);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(messages); ++i) {
    const auto out = sender.next(first + i), in = receiver.next(first + i);
    const auto [sends, receives] = times(out.packer != Packer::library, in.packer != Packer::library);
    if (out.measured) sender.took(out, sends);
    if (in.measured) receiver.took(in, receives);
  }
  return {sender.choice(), receiver.choice()};
}

/// What one side chooses also takes the other side's time.
TEST(PackTrial, BothSidesOfAMessageTryOneCandidateAtATime) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const auto choices = both_sides(1000 * seed, first_messages, [](bool packs, bool unpacks) {
      // A mixture takes six times as long.
      const double time = packs != unpacks ? 6000 : packs ? 500 : 1000;
      return std::array{time, time};
    });
    EXPECT_EQ(choices[0], Packer::cached);
    EXPECT_EQ(choices[1], Packer::cached);
  }
}

TEST(PackTrial, ASideThatChoseAloneGivesUp) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const auto choices = both_sides(1000 * seed, first_messages + 10, [](bool packs, bool unpacks) {
      if (packs != unpacks) return std::array{6000.0, 6000.0};
      return packs ? std::array{500.0, 1100.0} : std::array{1000.0, 1000.0};  // only the sender gains
    });
    EXPECT_EQ(choices[0], Packer::library);
    EXPECT_EQ(choices[1], Packer::library);
  }
}

TEST(PackTrial, ManyThreads) {
  PackTrial trial(Packer::library, true);
  const Times times{{Packer::library, 3000}, {Packer::cached, 1000}, {Packer::streamed, 2000}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { spend(trial, times, 20000); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(trial.found().choice, Packer::cached);
}

}  // namespace
