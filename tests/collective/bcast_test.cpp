// The schedules of all broadcasts, without an MPI.
#include <cstdlib>

#include <gtest/gtest.h>

#include "check_schedules.hpp"

namespace dunnage::collective {
namespace {

std::vector<Schedule> all_of(BcastAlgorithm a, const Bcast& b) {
  std::vector<Schedule> all;
  for (std::int32_t r = 0; r < b.ranks; ++r) all.push_back(bcast(a, b, r));
  return all;
}

/// DUNNAGE_TEST_RANKS: up to how many, DUNNAGE_TEST_LEAST_RANKS: from how many on; every root up to
/// DUNNAGE_TEST_ROOTS of them, some beyond (scripts/every-root.sh).
std::int32_t option(const char* name, std::int32_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}
std::vector<std::int32_t> roots(std::int32_t ranks) {
  std::vector<std::int32_t> some;
  if (ranks <= option("DUNNAGE_TEST_ROOTS", 24))
    for (std::int32_t r = 0; r < ranks; ++r) some.push_back(r);
  else
    some = {0, 1, ranks / 2, ranks - 1};
  return some;
}

class Algorithms : public testing::TestWithParam<BcastAlgorithm> {};

TEST_P(Algorithms, EveryRankEndsWithAllBytesAndGetsNoneTwice) {
  const auto a = GetParam();
  const bool again = a == BcastAlgorithm::scatter_ring;
  for (std::int32_t ranks = option("DUNNAGE_TEST_LEAST_RANKS", 1); ranks <= option("DUNNAGE_TEST_RANKS", 300);
       ++ranks) {
    for (const auto root : roots(ranks)) {
      const std::int64_t bytes = ranks % 3 == 0 ? 12288 : ranks % 3 == 1 ? 524287 : 64 * ranks + root % 7;
      const Bcast b{ranks, root, bytes, in_segments(a) ? bytes / (1 + (ranks + root) % 11) + 1 : 0};
      if (!possible(a, b)) continue;
      const auto t = tests::check_schedules(all_of(a, b), root, bytes, again);
      ASSERT_EQ(t.wrong, "") << text(a) << ", " << ranks << " ranks, root " << root << ", " << bytes
                             << " bytes in segments of " << b.segment;
      if (!again) {
        ASSERT_EQ(t.bytes, (ranks - 1) * bytes) << text(a) << ", " << ranks;
      }
    }
  }
}

TEST_P(Algorithms, FewBytes) {
  const auto a = GetParam();
  for (const std::int32_t ranks : {1, 2, 3, 5, 8, 16, 17, 33, 64})
    for (const std::int64_t bytes : {0, 1, 2, 3, 7, 16, 63, 64, 65, 1000, 4097})
      for (const std::int64_t segment : {0, 1, 3, 64, 5000}) {
        const Bcast b{ranks, ranks / 3, bytes, segment};
        if (!possible(a, b) || (segment && !in_segments(a))) continue;
        const auto t = tests::check_schedules(all_of(a, b), b.root, bytes, a == BcastAlgorithm::scatter_ring);
        ASSERT_EQ(t.wrong, "") << text(a) << ", " << ranks << " ranks, " << bytes << " bytes, segments of " << segment;
      }
}

// A schedule for another root is that of root 0, turned.
TEST_P(Algorithms, RootsAreAlike) {
  const auto a = GetParam();
  for (const std::int32_t ranks : {2, 7, 16, 29, 64}) {
    const Bcast zero{ranks, 0, 100000, in_segments(a) ? 9000 : 0};
    if (!possible(a, zero)) continue;
    for (std::int32_t root = 0; root < ranks; ++root)
      for (std::int32_t r = 0; r < ranks; ++r) {
        const auto one = bcast(a, {ranks, root, zero.bytes, zero.segment}, (r + root) % ranks),
                   other = bcast(a, zero, r);
        ASSERT_EQ(one.steps(), other.steps());
        for (std::size_t i = 0; i < one.transfers().size(); ++i) {
          auto turned = other.transfers()[i];
          turned.peer = (turned.peer + root) % ranks;
          ASSERT_EQ(one.transfers()[i], turned);
        }
      }
  }
}

std::string name_of(const testing::TestParamInfo<BcastAlgorithm>& info) {
  std::string name(text(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, Algorithms, testing::ValuesIn(all_bcast_algorithms), name_of);

// The fifth seed document's figures, and its formula for every number of ranks.
TEST(OpenRing, SavesWhatTheFormulaSays) {
  EXPECT_EQ(ring_messages(8), 56);
  EXPECT_EQ(saved_messages(8), 12);
  EXPECT_EQ(ring_messages(10), 90);
  EXPECT_EQ(saved_messages(10), 15);
  std::int64_t bits = 0;
  for (std::int32_t ranks = 2; ranks <= option("DUNNAGE_TEST_RANKS", 300); ++ranks) {
    bits += std::popcount(static_cast<std::uint32_t>(ranks - 1));
    EXPECT_EQ(saved_messages(ranks), bits) << ranks;
    const Bcast b{ranks, 0, 64 * 300, 0};  // no chunk is empty
    const auto native = tests::check_schedules(all_of(BcastAlgorithm::scatter_ring, b), 0, b.bytes, true);
    const auto open = tests::check_schedules(all_of(BcastAlgorithm::scatter_open_ring, b), 0, b.bytes, false);
    EXPECT_EQ(native.messages, ranks - 1 + ring_messages(ranks)) << ranks;
    EXPECT_EQ(native.again, saved_messages(ranks)) << ranks;
    EXPECT_EQ(open.messages, native.messages - saved_messages(ranks)) << ranks;
    EXPECT_EQ(open.bytes, (ranks - 1) * b.bytes) << ranks;
  }
}

// Or those whose receivers have more to do would be flooded.
TEST(OpenRing, RanksThatOnlySendAreHeldBack) {
  const Bcast b{64, 0, 1 << 20, 0};
  for (std::int32_t r = 0; r < b.ranks; ++r) {
    int since = 0;
    bool alone = false;
    const auto schedule = bcast(BcastAlgorithm::scatter_open_ring, b, r);
    for (std::size_t i = 6; i < schedule.steps(); ++i) {
      const auto step = schedule.step(i);
      alone = step.size() == 1 && !step[0].receives() && step[0].range.size() == b.bytes / b.ranks;
      since = alone && step[0].kind == Transfer::Kind::send ? since + 1 : 0;
      EXPECT_LT(since, 4) << r;
    }
  }
}

TEST(Circulant, TakesTheFewestRounds) {
  for (const std::int32_t ranks : {2, 3, 9, 16, 17, 33, 100, 129, 300})
    for (const std::int64_t segments : {1, 2, 5, 16, 37}) {
      const Bcast b{ranks, 0, segments * 100, 100};
      const auto t = tests::check_schedules(all_of(BcastAlgorithm::circulant, b), 0, b.bytes, false);
      ASSERT_EQ(t.wrong, "");
      EXPECT_LE(t.steps,
                static_cast<std::size_t>(segments - 1 + std::bit_width(static_cast<std::uint32_t>(ranks - 1))));
    }
}

TEST(Chunks, AreBalancedAndWhole) {
  for (const std::int32_t ranks : {1, 2, 3, 7, 64, 129})
    for (const std::int64_t bytes : {0, 1, 5, 128, 8255, 8256, 12288, 1048577}) {
      const Bcast b{ranks, 0, bytes, 0};
      std::int64_t next = 0, least = bytes, most = 0;
      for (std::int32_t i = 0; i < ranks; ++i) {
        const auto c = chunk(b, i);
        EXPECT_EQ(c.begin, next);
        if (bytes >= 64 * ranks) {
          EXPECT_EQ(c.begin % 64, 0);
        }
        next = c.end;
        least = std::min(least, c.size());
        most = std::max(most, c.size());
      }
      EXPECT_EQ(next, bytes);
      EXPECT_LE(most - least, bytes >= 64 * ranks ? 127 : 1) << ranks << " " << bytes;
    }
}

}  // namespace
}  // namespace dunnage::collective
