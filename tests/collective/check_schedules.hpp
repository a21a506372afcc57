// All ranks' schedules against each other, without an MPI: every send ends only when it has been
// received, as with the largest messages.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collective/bcast.hpp"

namespace dunnage::tests {

/// Sets of bytes as ranges that do not touch.
class Bytes {
 public:
  bool has(collective::Range r) const {
    auto at = ranges_.upper_bound(r.begin);
    return at != ranges_.begin() && (--at)->second >= r.end;
  }
  bool touches(collective::Range r) const {
    const auto at = ranges_.lower_bound(r.end);
    return at != ranges_.begin() && std::prev(at)->second > r.begin;
  }
  void add(collective::Range r) {
    auto at = ranges_.upper_bound(r.begin);
    if (at != ranges_.begin() && std::prev(at)->second >= r.begin) at = std::prev(at);
    while (at != ranges_.end() && at->first <= r.end) {
      r = {std::min(r.begin, at->first), std::max(r.end, at->second)};
      at = ranges_.erase(at);
    }
    ranges_[r.begin] = r.end;
  }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // from begin to end
};

struct Traffic {
  std::string wrong;                                // what is; empty: nothing
  std::int64_t messages = 0, bytes = 0, again = 0;  // again: messages of bytes that their receiver had
  std::size_t steps = 0;                            // of the rank that has most
};

/// `all`: of every rank. `again`: whether bytes may come that are there.
inline Traffic check_schedules(const std::vector<collective::Schedule>& all, std::int32_t root, std::int64_t bytes,
                               bool again) {
  using collective::Range;
  struct Rank {
    std::size_t step = 0, open = 0;  // transfers of it that are under way
    std::vector<Range> come;
    Bytes bytes;
  };
  struct Posted {
    std::deque<Range> sent, wanted;
  };
  Traffic t;
  std::vector<Rank> ranks(all.size());
  std::map<std::pair<std::int32_t, std::int32_t>, Posted> posted;  // by sender and receiver
  if (bytes > 0) ranks[static_cast<std::size_t>(root)].bytes.add({0, bytes});
  std::vector<std::int32_t> ready;
  const auto name = [](Range r) { return "[" + std::to_string(r.begin) + ", " + std::to_string(r.end) + ")"; };
  const auto complain = [&](const std::string& text) {
    if (t.wrong.empty()) t.wrong = text;
  };
  const auto end_one = [&](std::int32_t rank) {
    auto& r = ranks[static_cast<std::size_t>(rank)];
    if (--r.open == 0) {
      for (const auto range : r.come) r.bytes.add(range);
      r.come.clear();
      ++r.step;
      ready.push_back(rank);
    }
  };
  const auto begin = [&](std::int32_t rank) {
    auto& r = ranks[static_cast<std::size_t>(rank)];
    const auto& schedule = all[static_cast<std::size_t>(rank)];
    if (r.step == schedule.steps()) return;
    const auto step = schedule.step(r.step);
    r.open = step.size() + 1;
    for (const auto& one : step) {
      if (one.peer < 0 || one.peer >= static_cast<std::int32_t>(all.size()) || one.peer == rank)
        return complain("a peer that is none");
      if (one.range.empty() || one.range.begin < 0 || one.range.end > bytes) return complain("a range that is none");
      const auto sender = one.receives() ? one.peer : rank, receiver = one.receives() ? rank : one.peer;
      auto& p = posted[{sender, receiver}];
      if (!one.receives() && !r.bytes.has(one.range))
        complain("rank " + std::to_string(rank) + " sends " + name(one.range) + ", which it does not have");
      (one.receives() ? p.wanted : p.sent).push_back(one.range);
      if (p.sent.empty() || p.wanted.empty()) continue;
      if (p.sent.front() != p.wanted.front())
        return complain("rank " + std::to_string(receiver) + " wants " + name(p.wanted.front()) + " and is sent " +
                        name(p.sent.front()));
      auto& to = ranks[static_cast<std::size_t>(receiver)];
      const auto range = p.sent.front();
      bool had = to.bytes.touches(range);
      for (const auto other : to.come) had = had || (other.begin < range.end && range.begin < other.end);
      if (had && !again)
        complain("rank " + std::to_string(receiver) + " receives " + name(range) + ", of which it has something");
      t.again += had;
      to.come.push_back(range);
      ++t.messages;
      t.bytes += range.size();
      p.sent.pop_front();
      p.wanted.pop_front();
      end_one(sender);
      end_one(receiver);
    }
    end_one(rank);
  };
  for (std::size_t i = 0; i < all.size(); ++i) ready.push_back(static_cast<std::int32_t>(i));
  while (!ready.empty() && t.wrong.empty()) {
    const auto rank = ready.back();
    ready.pop_back();
    begin(rank);
  }
  for (std::size_t i = 0; i < all.size() && t.wrong.empty(); ++i) {
    t.steps = std::max(t.steps, all[i].steps());
    if (ranks[i].step != all[i].steps())
      complain("rank " + std::to_string(i) + " waits for ever in step " + std::to_string(ranks[i].step));
    if (bytes > 0 && !ranks[i].bytes.has({0, bytes}))
      complain("rank " + std::to_string(i) + " does not have all bytes");
  }
  for (const auto& [who, p] : posted)
    if (!p.sent.empty() || !p.wanted.empty()) complain("something is left over");
  return t;
}

}  // namespace dunnage::tests
