#include "collective/gather.hpp"

#include <deque>
#include <map>

#include <gtest/gtest.h>

namespace dunnage::collective {
namespace {

/// What the root has at the end, where rank r begins with letter(r) in its place. Sends are
/// buffered.
std::string gathered(std::int32_t ranks, std::int32_t root, std::int64_t bytes) {
  const auto in_order = [&](std::int32_t r) { return (r - root + ranks) % ranks; };
  std::vector<std::string> memory;
  std::vector<Schedule> all;
  for (std::int32_t r = 0; r < ranks; ++r) {
    memory.emplace_back(static_cast<std::size_t>(ranks * bytes), '.');
    memory.back().replace(static_cast<std::size_t>(in_order(r) * bytes), static_cast<std::size_t>(bytes),
                          static_cast<std::size_t>(bytes), static_cast<char>('A' + r));
    all.push_back(gather({ranks, root, bytes, 0}, r));
  }
  std::map<std::pair<std::int32_t, std::int32_t>, std::deque<std::pair<Range, std::string>>> under_way;
  std::vector<std::size_t> next(all.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::int32_t r = 0; r < ranks; ++r) {
      const auto i = static_cast<std::size_t>(r);
      for (; next[i] < all[i].transfers().size(); ++next[i], moved = true) {
        const auto& t = all[i].transfers()[next[i]];
        const auto begin = static_cast<std::size_t>(t.range.begin), size = static_cast<std::size_t>(t.range.size());
        auto& queue = under_way[t.receives() ? std::pair(t.peer, r) : std::pair(r, t.peer)];
        if (!t.receives()) {
          queue.emplace_back(t.range, memory[i].substr(begin, size));
          continue;
        }
        if (queue.empty()) break;
        EXPECT_EQ(queue.front().first, t.range);
        memory[i].replace(begin, size, queue.front().second);
        queue.pop_front();
      }
    }
  }
  for (const auto& [who, queue] : under_way) EXPECT_TRUE(queue.empty());
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(next[i], all[i].transfers().size()) << "rank " << i << " waits for ever";
  return memory[static_cast<std::size_t>(root)];
}

TEST(Gather, TheRootHasThatOfAllFromItsOwnOn) {
  EXPECT_EQ(gathered(5, 3, 2), "DDEEAABBCC");
  for (std::int32_t ranks = 1; ranks <= 40; ++ranks)
    for (std::int32_t root = 0; root < ranks; ++root) {
      std::string expected;
      for (std::int32_t r = 0; r < ranks; ++r) expected += static_cast<char>('A' + (root + r) % ranks);
      ASSERT_EQ(gathered(ranks, root, 1), expected) << ranks << " ranks, root " << root;
    }
}

}  // namespace
}  // namespace dunnage::collective
