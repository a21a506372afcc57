#include "plan/exchange_trial.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <random>

namespace {

using dunnage::plan::ExchangeTrial;
using dunnage::plan::Packer;

constexpr auto mpi = Packer::library, ours = Packer::cached;

/// Two ranks that exchange messages with each other, again and again. An exchange takes as long as
/// `time` says, in nanoseconds, for what the two ranks do. Between two exchanges they compute.
class Pair {
 public:
  using Time = std::function<double(Packer, Packer)>;
  explicit Pair(Packer first = mpi, unsigned seed = 1, std::int64_t bytes = 16 << 10)
      : trials_{ExchangeTrial(first, bytes), ExchangeTrial(first, bytes)}, random_(seed) {
    now_ = static_cast<std::int64_t>(random_() % 1'000'000'000);
  }
  /// The second rank is late by that much.
  std::int64_t skew = 0, computes = 30'000;
  double noise = 0;  // part of the time

  /// From now on each rank hears what the other one has chosen.
  void talk() {
    for (int rank = 0; rank < 2; ++rank) (*this)[rank].tell_in(&told_[static_cast<std::size_t>(rank)], {1, 0});
    talks_ = true;
  }
  void exchange(int times, const Time& time) {
    for (int i = 0; i < times; ++i) {
      std::array<ExchangeTrial::Turn, 2> turns;
      for (std::size_t rank = 0; talks_ && rank < 2; ++rank)
        if (trials_[rank].hopes()) trials_[rank].hear(ExchangeTrial::Told{told_[1 - rank].load()});
      for (int rank = 0; rank < 2; ++rank) turns[rank] = trials_[rank].next(now_ + rank * skew);
      const double exact = time(turns[0].packer, turns[1].packer);
      spent_ += exact;
      const auto lasts = exact * (1 + noise * std::uniform_real_distribution<>(0, 1)(random_));
      now_ += static_cast<std::int64_t>(lasts) + skew;
      for (int rank = 0; rank < 2; ++rank)
        if (turns[rank].measured) trials_[rank].took(turns[rank], now_, lasts);
      now_ += computes;
    }
  }
  bool both(Packer packer) const { return trials_[0].choice() == packer && trials_[1].choice() == packer; }
  bool settled() const { return trials_[0].settled() && trials_[1].settled(); }
  double spent() const { return spent_; }
  ExchangeTrial& operator[](int rank) { return trials_[static_cast<std::size_t>(rank)]; }

 private:
  std::array<std::atomic<std::uint32_t>, 2> told_{};  // before the trials, which tell there
  bool talks_ = false;
  std::array<ExchangeTrial, 2> trials_;
  std::mt19937 random_;
  std::int64_t now_;
  double spent_ = 0;
};

Pair::Time times(double both_mpi, double both_ours, double mixed) {
  return [=](Packer a, Packer b) { return a != b ? mixed : a == mpi ? both_mpi : both_ours; };
}

TEST(ExchangeTrial, BothRanksFindTheFasterOneThoughMixturesAreSlow) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Pair gains(mpi, seed), loses(ours, seed);
    for (auto* pair : {&gains, &loses}) {
      pair->noise = 0.2;
      pair->skew = 2000;
    }
    gains.exchange(600, times(70'000, 50'000, 100'000));
    EXPECT_TRUE(gains.both(ours)) << seed;
    loses.exchange(600, times(70'000, 90'000, 110'000));
    EXPECT_TRUE(loses.both(mpi)) << seed;
    EXPECT_TRUE(gains.settled() && loses.settled()) << seed;
  }
}

/// Where the candidates are close the ranks may disagree, but not for long.
TEST(ExchangeTrial, RanksAgreeInTheEndThoughTheCandidatesAreClose) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Pair pair(mpi, seed);
    pair.noise = 0.3;
    pair.exchange(3000, times(70'000, 64'000, 110'000));
    EXPECT_TRUE(pair.both(mpi) || pair.both(ours)) << seed;
  }
}

TEST(ExchangeTrial, TheTrialCostsLittle) {
  Pair pair;
  pair.exchange(10'000, times(70'000, 90'000, 110'000));
  EXPECT_LT(pair.spent(), 1.01 * 10'000 * 70'000);
  Pair bad;  // Dunnage takes ten times as long
  bad.exchange(10'000, times(70'000, 700'000, 700'000));
  EXPECT_LT(bad.spent(), 1.05 * 10'000 * 70'000);
}

TEST(ExchangeTrial, ExchangesOfEachLengthAreTried) {
  for (const double time : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8}) {
    for (const bool much : {true, false}) {
      Pair pair(much ? ours : mpi, 1, static_cast<std::int64_t>(time / 4));
      pair.computes = static_cast<std::int64_t>(time);
      pair.exchange(2000, times(2 * time, time, 3 * time));
      EXPECT_TRUE(pair.settled() && pair.both(ours)) << time;
    }
  }
}

/// Programs have periods. Here two exchanges last as long as a slice.
TEST(ExchangeTrial, APeriodOfTheProgramChangesNothing) {
  for (const std::int64_t computes : {1'000'000, 500'000, 2'097'152 - 60'000, 1'048'576 - 60'000}) {
    Pair pair;
    pair.computes = computes;
    pair.exchange(2000, times(70'000, 50'000, 100'000));
    EXPECT_TRUE(pair.settled() && pair.both(ours)) << computes;
  }
}

TEST(ExchangeTrial, ExchangesThatLastLongerThanSlicesGetLongerSlices) {
  Pair pair(mpi, 1, 1000);
  pair.exchange(3000, times(7'000'000, 5'000'000, 9'000'000));
  EXPECT_TRUE(pair.settled() && pair.both(ours));
}

TEST(ExchangeTrial, UntilSomethingIsKnownThePredictedOneHasTheMessages) {
  for (const auto first : {mpi, ours}) {
    Pair pair(first);
    pair.exchange(ExchangeTrial::first_messages, times(70'000, 50'000, 100'000));
    EXPECT_TRUE(pair.both(first));
    EXPECT_FALSE(pair.settled());
  }
}

/// Half of the exchanges of a short program would otherwise be the slower candidate's.
TEST(ExchangeTrial, ClearCasesEndSooner) {
  const auto exchanges_until_settled = [](double both_ours) {
    Pair pair;
    int n = 0;
    while (!pair.settled() && n < 1000) pair.exchange(1, times(70'000, both_ours, 140'000)), ++n;
    EXPECT_TRUE(pair.both(both_ours < 70'000 ? ours : mpi)) << both_ours;
    return n;
  };
  EXPECT_LT(exchanges_until_settled(200'000), exchanges_until_settled(71'000));
  EXPECT_LE(exchanges_until_settled(75'000), exchanges_until_settled(200'000));  // no gain, which is as clear
  EXPECT_LT(exchanges_until_settled(35'000), exchanges_until_settled(60'000));
}

TEST(ExchangeTrial, EightMessagesComeBeforeTheTrialWhateverTheirSize) {
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{16 << 10}, std::int64_t{4 << 20}, std::int64_t{1} << 40}) {
    ExchangeTrial trial(mpi, bytes);
    int n = 0;
    while (!trial.next(0).measured) ++n;
    EXPECT_EQ(n, 8) << bytes;
  }
}

/// The other rank chooses the MPI, though this one gained in the trial. If it does so late, only
/// the second trial shows that.
TEST(ExchangeTrial, AMixtureThatLastsIsLeft) {
  int soon = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    Pair pair(mpi, seed);
    while (!pair.both(ours)) pair.exchange(1, times(70'000, 50'000, 300'000));
    pair[1].follow({mpi, true, {}});
    int n = 0;
    for (; pair[0].choice() == ours && n < 300; ++n) pair.exchange(1, times(70'000, 50'000, 300'000));
    EXPECT_EQ(pair[0].choice(), mpi) << seed;
    EXPECT_GT(pair[0].found().nanoseconds[static_cast<std::size_t>(mpi)], 0) << seed;
    soon += n <= 25;
  }
  EXPECT_GE(soon, 90);
}

/// A program whose exchanges last longer now and then keeps its gain.
TEST(ExchangeTrial, AFewLongExchangesAreNoMixture) {
  Pair pair;
  for (int i = 0; i < 3000; ++i)
    pair.exchange(1, i % 3 == 0 ? times(170'000, 150'000, 150'000) : times(70'000, 50'000, 80'000));
  EXPECT_TRUE(pair.settled() && pair.both(ours));
}

TEST(ExchangeTrial, ExchangesThatTakeAnotherTimeLaterAreTriedAgain) {
  Pair pair;
  pair.exchange(1000, times(70'000, 50'000, 100'000));
  ASSERT_TRUE(pair.both(ours));
  pair.exchange(20 * ExchangeTrial::least_pause, times(70'000, 500'000, 500'000));
  EXPECT_TRUE(pair.both(mpi));
}

TEST(ExchangeTrial, ExchangesThatTellNothingAreNotMeasuredForSomeTime) {
  ExchangeTrial trial(mpi, 16 << 10);
  for (int i = 0; i < ExchangeTrial::first_messages; ++i) EXPECT_FALSE(trial.next(i).measured);
  for (int i = 0; i < ExchangeTrial::most_lost; ++i) {
    const auto turn = trial.next(i * 1000);
    ASSERT_TRUE(turn.measured);
    trial.lost(turn);
  }
  for (int i = 0; i < ExchangeTrial::rest; ++i) EXPECT_FALSE(trial.next(i).measured);
  EXPECT_TRUE(trial.next(0).measured);
}

/// Without that, each rank would try again, and meet mixtures while the other one does.
TEST(ExchangeTrial, RanksThatHearOfEachOthersChoiceTryOnce) {
  double alone = 0, talking = 0;
  for (unsigned seed = 1; seed <= 100; ++seed)
    for (const bool talks : {false, true}) {
      Pair pair(mpi, seed);
      if (talks) pair.talk();
      pair.noise = 0.2;
      pair.skew = 2000;
      int n = 0;
      for (; !pair.settled() && n < 1000; ++n) pair.exchange(1, times(120'000, 20'000, 240'000));
      EXPECT_TRUE(pair.both(ours)) << seed;
      (talks ? talking : alone) += pair.spent() - n * 20'000.0;
    }
  EXPECT_LT(talking, alone / 2);
}

/// Noise may look like a small gain, on both ranks.
TEST(ExchangeTrial, ASmallGainMustBeFoundTwice) {
  Pair pair;
  while (pair[0].choice() != ours) pair.exchange(1, times(60'000, 50'000, 100'000));
  EXPECT_FALSE(pair[0].hopes());
  pair[0].hear(ExchangeTrial::Told::ours);
  EXPECT_FALSE(pair[0].settled());
}

TEST(ExchangeTrial, ARankThatHearsOfTheMpiGoesOnTrying) {
  Pair pair;
  while (!pair[0].hopes()) pair.exchange(1, times(70'000, 50'000, 100'000));
  pair[0].hear(ExchangeTrial::Told::library);
  pair[0].hear(ExchangeTrial::Told::nothing);
  EXPECT_TRUE(pair[0].hopes());
  EXPECT_FALSE(pair[0].settled());
  pair[0].hear(ExchangeTrial::Told::ours);
  EXPECT_TRUE(pair[0].settled());
  EXPECT_FALSE(pair[0].hopes());
  EXPECT_EQ(pair[0].choice(), ours);
}

/// What the first trial has found stays, though the second one has begun.
TEST(ExchangeTrial, ARankMayHearInItsSecondTrial) {
  for (int later = 0; later < 100; later += 7) {
    Pair pair;
    while (!pair[0].hopes()) pair.exchange(1, times(70'000, 50'000, 100'000));
    pair.exchange(later, times(70'000, 50'000, 100'000));
    if (!pair[0].hopes()) continue;
    pair[0].hear(ExchangeTrial::Told::ours);
    EXPECT_TRUE(pair[0].settled());
    const auto found = pair[0].found().nanoseconds;
    EXPECT_EQ(found[static_cast<std::size_t>(mpi)], 70'000);
    EXPECT_EQ(found[static_cast<std::size_t>(ours)], 50'000);
  }
}

TEST(ExchangeTrial, OthersFollow) {
  Pair pair;
  pair.exchange(1000, times(70'000, 50'000, 100'000));
  ASSERT_TRUE(pair.both(ours));
  ExchangeTrial other(mpi, 16 << 10);
  other.follow(pair[0].found());
  EXPECT_TRUE(other.settled());
  EXPECT_EQ(other.choice(), ours);
  EXPECT_FALSE(other.next(0).measured);
  EXPECT_EQ(other.found().nanoseconds, pair[0].found().nanoseconds);
  pair[0].follow({mpi, true, {}});  // which knows better
  EXPECT_EQ(pair[0].choice(), ours);
}

TEST(ExchangeTrial, OthersAreToldWhatItHasChosen) {
  using Told = ExchangeTrial::Told;
  std::atomic<std::uint32_t> place{0};
  const auto told = [&] { return Told{place.load()}; };
  for (const double of_mpi : {70'000, 40'000}) {
    Pair pair;
    pair[0].tell_in(&place, {});
    EXPECT_EQ(told(), Told::nothing);
    pair.exchange(1000, times(of_mpi, 50'000, 100'000));
    EXPECT_EQ(told(), of_mpi > 50'000 ? Told::ours : Told::library);
    EXPECT_FALSE(pair[0].asks());
    place = 0;
  }
}

TEST(ExchangeTrial, TheOtherRankIsAskedIfTheCandidatesAreClose) {
  std::atomic<std::uint32_t> place{0};
  Pair pair;
  pair[0].tell_in(&place, {});
  for (int i = 0; i < 1000 && !pair[0].settled(); ++i) pair.exchange(1, times(51'000, 50'000, 50'500));
  ASSERT_TRUE(pair[0].asks());
  EXPECT_FALSE(pair[0].next(0).measured);
  EXPECT_EQ(pair[0].agree(mpi, ExchangeTrial::Told::ours), ours);
  EXPECT_EQ(ExchangeTrial::Told{place.load()}, ExchangeTrial::Told::ours);
  EXPECT_EQ(pair[0].next(0).packer, ours);
}

}  // namespace
