#include "collective/two_level.hpp"

#include <algorithm>
#include <unordered_map>

namespace dunnage::collective {
namespace {

/// Children of each rank inside a host.
constexpr std::size_t fan_out = 2;

struct Grouping {
  std::vector<std::int32_t> leaders;                // of each host, in the order of the hosts' first ranks
  std::vector<std::int32_t> mine;                   // ranks of this one's host, the leader first
  std::int32_t root_host = 0, my_host = 0;

  Grouping(Hosts host_of, std::int32_t root, std::int32_t rank) {
    std::unordered_map<std::int32_t, std::int32_t> index;
    for (std::size_t r = 0; r < host_of.size(); ++r) {
      const auto self = static_cast<std::int32_t>(r);
      const auto [at, first] = index.try_emplace(host_of[r], static_cast<std::int32_t>(leaders.size()));
      if (first) leaders.push_back(self);
      if (self == root) leaders[static_cast<std::size_t>(root_host = at->second)] = root;
      if (self == rank) my_host = at->second;
      if (host_of[r] == host_of[static_cast<std::size_t>(rank)]) mine.push_back(self);
    }
    std::iter_swap(mine.begin(), std::find(mine.begin(), mine.end(), leader()));
  }
  std::int32_t leader() const { return leaders[static_cast<std::size_t>(my_host)]; }
};

/// What arrives at a host's leader in each step of its schedule; at the root all is there, and goes in segments.
std::vector<std::vector<Range>> arrivals(const Schedule& between, const Bcast& b, bool root) {
  std::vector<std::vector<Range>> steps;
  if (root) {
    const auto size = b.segment > 0 ? b.segment : b.bytes;
    for (std::int64_t begin = 0; begin < b.bytes; begin += size) steps.push_back({{begin, std::min(begin + size, b.bytes)}});
    return steps;
  }
  for (std::size_t i = 0; i < between.steps(); ++i) {
    auto& come = steps.emplace_back();
    for (const auto& one : between.step(i))
      if (one.receives()) come.push_back(one.range);
  }
  return steps;
}

}  // namespace

std::int32_t count_hosts(Hosts host_of) {
  std::vector<std::int32_t> all(host_of.begin(), host_of.end());
  std::sort(all.begin(), all.end());
  return static_cast<std::int32_t>(std::unique(all.begin(), all.end()) - all.begin());
}

Schedule bcast_two_level(BcastAlgorithm between, const Bcast& b, Hosts host_of, std::int32_t rank) {
  Schedule made;
  if (b.ranks < 2 || b.bytes <= 0) return made;
  const Grouping group(host_of, b.root, rank);
  const Bcast among{static_cast<std::int32_t>(group.leaders.size()), group.root_host, b.bytes, b.segment};
  const auto schedule = bcast(between, among, group.my_host);
  const auto pieces = arrivals(schedule, b, group.leader() == b.root);
  const auto place = static_cast<std::size_t>(std::find(group.mine.begin(), group.mine.end(), rank) - group.mine.begin());
  const auto pass_on = [&](Range piece) {
    for (std::size_t child = fan_out * place + 1; child <= fan_out * place + fan_out && child < group.mine.size(); ++child)
      made.add(Transfer::Kind::send, group.mine[child], piece);
  };
  const bool leads = place == 0;
  // The leader's pieces come with its steps; the root has them from the beginning.
  const std::size_t lag = leads && rank == b.root ? 0 : 1;
  for (std::size_t i = 0; i < std::max(leads ? schedule.steps() : 0, pieces.size() + lag); ++i) {
    if (leads && i < schedule.steps()) {
      for (const auto& one : schedule.step(i)) made.add(one.kind, group.leaders[static_cast<std::size_t>(one.peer)], one.range);
    } else if (!leads && i < pieces.size()) {
      for (const auto& piece : pieces[i]) made.add(Transfer::Kind::receive, group.mine[(place - 1) / fan_out], piece);
    }
    if (i >= lag && i - lag < pieces.size())
      for (const auto& piece : pieces[i - lag]) pass_on(piece);
    made.end_step();
  }
  return made;
}

}  // namespace dunnage::collective
