#include "simulate.hpp"

#include <algorithm>
#include <deque>
#include <queue>
#include <stdexcept>
#include <unordered_map>

namespace bench {
namespace {

using namespace dunnage::collective;

class Simulation {
 public:
  Simulation(const Network& network, std::int32_t ranks, const std::function<Schedule(std::int32_t)>& schedule)
      : network_(network), ranks_(static_cast<std::size_t>(ranks)) {
    for (std::int32_t r = 0; r < ranks; ++r) at(r).schedule = schedule(r);
    for (const auto& level : network.levels)
      links_.emplace_back(static_cast<std::size_t>((ranks + level.ranks - 1) / level.ranks));
  }

  Simulated run() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) begin_step(static_cast<std::int32_t>(r), 0);
    while (!events_.empty()) {
      const auto event = events_.top();
      events_.pop();
      event.kind == Event::moves ? move(event) : ended(event.rank, event.time);
    }
    for (const auto& rank : ranks_) {
      if (rank.step != rank.schedule.steps()) throw std::logic_error("a rank waits for ever");
      found_.seconds = std::max(found_.seconds, rank.now);
    }
    return found_;
  }

 private:
  struct Rank {
    Schedule schedule;
    std::size_t step = 0, open = 0;
    double now = 0, out_free = 0, in_free = 0;
  };
  struct Link {
    double out_free = 0, in_free = 0;
  };
  /// A message whose data can go, or the end of a transfer of a rank's.
  struct Event {
    enum Kind { moves, ends } kind;
    double time;
    std::uint64_t order;  // of those at one time
    std::int32_t rank, peer;
    Range range;
    bool eager, synchronous;
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Posted {
    Range range;
    double time;  // of sends: when its data are there, if eager; else when it was begun
    bool eager, synchronous;
  };
  struct Pair {
    std::deque<Posted> sends, receives;
  };

  Rank& at(std::int32_t rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Pair& pair(std::int32_t from, std::int32_t to) {
    return pairs_[static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to)];
  }
  /// The first level that has both in one unit, or how many there are.
  std::size_t level_of(std::int32_t a, std::int32_t b) const {
    std::size_t l = 0;
    while (l < network_.levels.size() && a / network_.levels[l].ranks != b / network_.levels[l].ranks) ++l;
    return l;
  }
  double latency(std::int32_t a, std::int32_t b) const {
    const auto l = level_of(a, b);
    return l < network_.levels.size() ? network_.levels[l].latency : network_.latency;
  }
  void push(Event::Kind kind, double time, std::int32_t rank, std::int32_t peer = 0, Range range = {},
            bool eager = false, bool synchronous = false) {
    events_.push({kind, time, order_++, rank, peer, range, eager, synchronous});
  }

  void begin_step(std::int32_t rank, double now) {
    auto& r = at(rank);
    r.now = now;
    if (r.step == r.schedule.steps()) return;
    const auto step = r.schedule.step(r.step);
    r.open = step.size();
    for (const auto& one : step) {
      now += network_.overhead;
      if (one.receives()) {
        pair(one.peer, rank).receives.push_back({one.range, now, false, false});
        match(one.peer, rank);
        continue;
      }
      ++found_.messages;
      found_.bytes += one.range.size();
      if (!network_.levels.empty() && level_of(rank, one.peer) > 0) found_.outside += one.range.size();
      const bool eager = one.range.size() <= network_.eager, synchronous = one.kind == Transfer::Kind::synchronous_send;
      if (eager) {
        push(Event::moves, now, rank, one.peer, one.range, true, synchronous);
        continue;
      }
      pair(rank, one.peer).sends.push_back({one.range, now, false, synchronous});
      match(rank, one.peer);
    }
  }

  /// A send that has been begun, or whose data have come, and a receive.
  void match(std::int32_t from, std::int32_t to) {
    auto& p = pair(from, to);
    while (!p.sends.empty() && !p.receives.empty()) {
      const auto send = p.sends.front(), receive = p.receives.front();
      p.sends.pop_front();
      p.receives.pop_front();
      if (send.range != receive.range) throw std::logic_error("a rank receives what it does not want");
      if (send.eager) {
        const auto there = std::max(send.time, receive.time);
        push(Event::ends, there, to);
        if (send.synchronous) push(Event::ends, there + latency(from, to), from);
      } else {  // the sender asks, and is told
        push(Event::moves, std::max(send.time + latency(from, to), receive.time) + latency(from, to), from, to,
             send.range, false, false);
      }
    }
  }

  void move(const Event& e) {
    auto &from = at(e.rank), &to = at(e.peer);
    const auto bytes = static_cast<double>(e.range.size());
    const auto l = level_of(e.rank, e.peer);
    // It begins when all that it goes through is free, and takes as long as the slowest.
    double start = std::max(e.time, from.out_free), slowest = network_.byte_time;
    const auto each_link = [&](auto&& f) {
      for (std::size_t i = 0; i < l; ++i)
        if (const auto& level = network_.levels[i]; level.byte_time > 0)
          f(level, links_[i][static_cast<std::size_t>(e.rank / level.ranks)].out_free,
            links_[i][static_cast<std::size_t>(e.peer / level.ranks)].in_free);
    };
    each_link([&](const auto& level, double out, double in) {
      start = std::max({start, out, in});
      slowest = std::max(slowest, level.byte_time);
    });
    const auto delay = latency(e.rank, e.peer);
    start = std::max(start, to.in_free - delay);
    from.out_free = start + bytes * slowest;
    to.in_free = start + delay + bytes * slowest;
    each_link([&](const auto& level, double& out, double& in) { out = in = start + bytes * level.byte_time; });
    const auto there = to.in_free;
    if (e.eager) {
      if (!e.synchronous) push(Event::ends, from.out_free, e.rank);
      pair(e.rank, e.peer).sends.push_back({e.range, there, true, e.synchronous});
      match(e.rank, e.peer);
    } else {
      push(Event::ends, from.out_free, e.rank);
      push(Event::ends, there, e.peer);
    }
  }

  void ended(std::int32_t rank, double now) {
    auto& r = at(rank);
    if (--r.open > 0) return;
    ++r.step;
    begin_step(rank, now);
  }

  const Network& network_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<Link>> links_;  // by level and unit
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  Simulated found_;
};

}  // namespace

Simulated simulate(const Network& network, std::int32_t ranks, const std::function<Schedule(std::int32_t)>& schedule) {
  return Simulation(network, ranks, schedule).run();
}

}  // namespace bench
