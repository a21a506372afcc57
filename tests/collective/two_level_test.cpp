// Broadcasts between hosts and inside them, without an MPI.
#include "collective/two_level.hpp"

#include <gtest/gtest.h>

#include <random>

#include "check_schedules.hpp"

namespace dunnage::collective {
namespace {

std::vector<Schedule> all_of(BcastAlgorithm a, const Bcast& b, Hosts hosts) {
  std::vector<Schedule> all;
  for (std::int32_t r = 0; r < b.ranks; ++r) all.push_back(bcast_two_level(a, b, hosts, r));
  return all;
}

/// Bytes that go from host to host.
std::int64_t between_hosts(const std::vector<Schedule>& all, Hosts hosts) {
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < all.size(); ++r)
    for (const auto& one : all[r].transfers())
      if (!one.receives() && hosts[r] != hosts[static_cast<std::size_t>(one.peer)]) bytes += one.range.size();
  return bytes;
}

constexpr std::array algorithms = {BcastAlgorithm::binomial, BcastAlgorithm::scatter_open_ring, BcastAlgorithm::scatter_doubling,
                                   BcastAlgorithm::chain,    BcastAlgorithm::binary_tree,       BcastAlgorithm::circulant};

TEST(TwoLevel, RandomHosts) {
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    const auto ranks = static_cast<std::int32_t>(1 + random() % 70);
    const auto most = 1 + random() % 12;
    std::vector<std::int32_t> hosts;
    for (std::int32_t r = 0; r < ranks; ++r)
      hosts.push_back(i % 3 == 0 ? static_cast<std::int32_t>(random() % most) - 5 : r / static_cast<std::int32_t>(1 + most));  // anywhere, or in blocks
    const auto bytes = static_cast<std::int64_t>(random() % 100000);
    const auto a = algorithms[random() % algorithms.size()];
    const Bcast b{ranks, static_cast<std::int32_t>(random() % static_cast<unsigned>(ranks)), bytes, in_segments(a) ? 1 + static_cast<std::int64_t>(random() % 20000) : 0};
    if (!possible(a, {count_hosts(hosts), 0, bytes, 0})) continue;
    const auto all = all_of(a, b, hosts);
    const auto t = tests::check_schedules(all, b.root, bytes, false);
    ASSERT_EQ(t.wrong, "") << text(a) << ", " << ranks << " ranks, root " << b.root << ", " << bytes << " bytes, case " << i;
    ASSERT_EQ(t.bytes, (ranks - 1) * bytes);
    ASSERT_EQ(between_hosts(all, hosts), (count_hosts(hosts) - 1) * bytes) << "the message enters each host once";
  }
}

TEST(TwoLevel, EveryRoot) {
  for (const std::int32_t ranks : {8, 24, 33})
    for (std::int32_t root = 0; root < ranks; ++root)
      for (const auto a : algorithms) {
        std::vector<std::int32_t> hosts;
        for (std::int32_t r = 0; r < ranks; ++r) hosts.push_back(r / 4);
        const Bcast b{ranks, root, 50000, in_segments(a) ? 3000 : 0};
        if (!possible(a, {count_hosts(hosts), 0, b.bytes, 0})) continue;
        ASSERT_EQ(tests::check_schedules(all_of(a, b, hosts), root, b.bytes, false).wrong, "") << text(a) << ", " << ranks << ", root " << root;
      }
}

}  // namespace
}  // namespace dunnage::collective
