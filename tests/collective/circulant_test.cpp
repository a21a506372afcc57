// The block schedules of the circulant graph against the conditions that make them right (arXiv
// 2407.18004, section 2).
#include "collective/circulant.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace dunnage::collective {
namespace {

/// Of one rank: what it receives in a phase is one new block and all of the phase before but the
/// one that it had first; what it sends it has.
void expect_right(const Circulant& graph, std::int32_t p, std::int32_t r) {
  const int q = graph.rounds(), b = graph.base(r);
  const auto receives = graph.receives(r), sends = graph.sends(r);
  std::set<int> want;
  for (int e = -q; e < 0; ++e) want.insert(e);
  if (r != 0) {
    want.erase(b - q);
    want.insert(b);
    ASSERT_EQ(std::set<int>(receives.begin(), receives.end()), want) << p << " " << r;
    ASSERT_EQ(sends[0], b - q) << p << " " << r;
  }
  for (int k = 0; k < q; ++k) {
    const auto from = (r - graph.skip(k) + p) % p;
    if (r != 0) {
      ASSERT_EQ(receives[static_cast<std::size_t>(k)], graph.sends(from)[static_cast<std::size_t>(k)])
          << p << " " << r << " " << k;
    }
    if (r == 0 || k == 0) continue;
    const auto sent = sends[static_cast<std::size_t>(k)];
    ASSERT_TRUE(sent == b - q || std::find(receives.begin(), receives.begin() + k, sent) != receives.begin() + k)
        << p << " " << r << " " << k;
  }
}

TEST(Circulant, SchedulesOfAllRanks) {
  for (std::int32_t p = 2; p <= 130; ++p) {
    const Circulant graph(p);
    for (std::int32_t r = 0; r < p; ++r) expect_right(graph, p, r);
  }
}

TEST(Circulant, SchedulesOfSomeRanksOfMany) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const auto p = static_cast<std::int32_t>(2 + random() % (i < 100 ? 5000 : 1 << 20));
    const Circulant graph(p);
    for (int k = 0; k < 10; ++k)
      expect_right(graph, p, static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(p)));
  }
}

}  // namespace
}  // namespace dunnage::collective
