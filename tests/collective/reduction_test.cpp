#include "collective/reduction.hpp"

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

ReductionShape shape(ReductionKind kind, std::uint32_t rank, std::uint32_t ranks, std::int64_t total) {
  ReductionShape s;
  s.kind = kind;
  s.rank = rank;
  s.ranks = ranks;
  s.element = 8;
  s.total = total;
  return s;
}

TEST(ReductionPlan, PartsCoverAllElementsOnce) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 4u, 7u, 32u})
    for (const std::int64_t element : {1, 2, 8, 16})
      for (const std::int64_t total : {0, 1, 31, 32, 33, 100, 1000, 123457}) {
        auto s = shape(ReductionKind::allreduce, 0, ranks, total);
        s.element = element;
        std::int64_t at = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          const auto part = reduced_by(rank, s);
          EXPECT_EQ(part.begin, at);
          EXPECT_GE(part.count, 0);
          EXPECT_TRUE(part.count == 0 || part.begin * element % 256 == 0);
          at += part.count;
        }
        EXPECT_EQ(at, total);
      }
}

TEST(ReductionPlan, ShortAllreducesAreDoneByEveryRank) {
  for (const std::uint32_t rank : {0u, 3u}) {
    const auto plan = plan_reduction(shape(ReductionKind::allreduce, rank, 4, 1000));
    EXPECT_FALSE(plan.gathers);
    EXPECT_EQ(plan.own, (ReductionPart{0, 1000}));
    EXPECT_EQ(plan.sources, 4u);
  }
}

TEST(ReductionPlan, LongAllreducesAreDoneInParts) {
  const auto s = shape(ReductionKind::allreduce, 2, 4, 8 << 20);
  const auto plan = plan_reduction(s);
  EXPECT_TRUE(plan.gathers);
  EXPECT_EQ(plan.own, reduced_by(2, s));
  EXPECT_EQ(plan.own.count, 2 << 20);
  EXPECT_EQ(plan.to, plan.own.begin);
  EXPECT_FALSE(plan.apart);
}

TEST(ReductionPlan, TwoRanksReadNoLessInParts) {
  EXPECT_FALSE(plan_reduction(shape(ReductionKind::allreduce, 1, 2, 64 << 20)).gathers);
}

TEST(ReductionPlan, OnSeveralHostsShortOnesAreDoneInPartsToo) {
  auto s = shape(ReductionKind::allreduce, 1, 2, 1000);
  EXPECT_FALSE(plan_reduction(s).gathers);
  s.on_hosts = true;
  EXPECT_TRUE(plan_reduction(s).gathers);
  EXPECT_EQ(plan_reduction(s).own, reduced_by(1, s));
}

TEST(ReductionPlan, InPlaceAllRanksTakeParts) {
  auto s = shape(ReductionKind::allreduce, 1, 2, 5);
  s.any_in_place = true;  // of another rank
  EXPECT_TRUE(plan_reduction(s).gathers);
  EXPECT_EQ(plan_reduction(s).own.count, 0);
  s.rank = 0;
  EXPECT_EQ(plan_reduction(s).own.count, 5);
  EXPECT_FALSE(plan_reduction(s).apart);
}

TEST(ReductionPlan, InPlaceWithAHandshakeAllRanksReduceAll) {
  auto s = shape(ReductionKind::allreduce, 1, 2, 5);
  s.in_place = s.any_in_place = s.handshake = true;
  const auto plan = plan_reduction(s);
  EXPECT_FALSE(plan.gathers);
  EXPECT_FALSE(plan.apart);
  EXPECT_EQ(plan.own, (ReductionPart{0, 5}));
  auto many = shape(ReductionKind::allreduce, 1, 8, 1 << 20);
  many.in_place = many.any_in_place = many.handshake = true;
  EXPECT_TRUE(plan_reduction(many).gathers);  // as if it were not in place
}

TEST(ReductionPlan, CopiesAreReducedAtOnceAndInPlace) {
  for (const auto kind : {ReductionKind::allreduce, ReductionKind::scan, ReductionKind::exscan}) {
    auto s = shape(kind, 2, 4, 8 << 20);
    s.in_place = s.any_in_place = s.copied = true;
    const auto plan = plan_reduction(s);
    EXPECT_FALSE(plan.gathers);
    EXPECT_FALSE(plan.apart);
    EXPECT_EQ(plan.own, (ReductionPart{0, 8 << 20}));
    EXPECT_EQ(plan.sources, kind == ReductionKind::allreduce ? 4u : kind == ReductionKind::scan ? 3u : 2u);
  }
}

TEST(ReductionPlan, ARankAloneTakesItsOwn) {
  auto s = shape(ReductionKind::allreduce, 0, 1, 5);
  s.in_place = s.any_in_place = true;
  EXPECT_FALSE(plan_reduction(s).gathers);
  EXPECT_EQ(plan_reduction(s).sources, 1u);
}

TEST(ReductionPlan, OnlyTheRootReduces) {
  auto s = shape(ReductionKind::reduce, 1, 3, 10);
  s.root = 1;
  s.in_place = true;
  EXPECT_EQ(plan_reduction(s).own.count, 10);
  EXPECT_FALSE(plan_reduction(s).apart);  // nobody else reads the root's data
  s.rank = 2;
  EXPECT_EQ(plan_reduction(s).own.count, 0);
}

TEST(ReductionPlan, ScatteredResultsBeginTheBuffer) {
  auto s = shape(ReductionKind::reduce_scatter, 1, 3, 10);
  s.begin = 4;
  s.count = 3;
  auto plan = plan_reduction(s);
  EXPECT_EQ(plan.own, (ReductionPart{4, 3}));
  EXPECT_EQ(plan.to, 0);
  EXPECT_FALSE(plan.apart);
  s.in_place = true;
  EXPECT_TRUE(plan_reduction(s).apart);
}

TEST(ReductionPlan, ScansReadTheRanksBefore) {
  auto s = shape(ReductionKind::scan, 2, 4, 10);
  EXPECT_EQ(plan_reduction(s).sources, 3u);
  EXPECT_FALSE(plan_reduction(s).apart);
  s.in_place = true;
  EXPECT_TRUE(plan_reduction(s).apart);
  s.kind = ReductionKind::exscan;
  EXPECT_EQ(plan_reduction(s).sources, 2u);
  s.rank = 0;
  EXPECT_EQ(plan_reduction(s).own.count, 0);
}

}  // namespace
}  // namespace dunnage::collective
