// How long schedules take on a network, by a simulation of every message: the LogGP model (A.
// Alexandrov et al., SPAA 1995) with shared links.
//
// A rank begins the transfers of a step one after the other, and the next step when all of them
// have ended. It has one port out and one port in, through which one message goes at a time; hosts,
// and groups of hosts, have links that their ranks share in both directions. Messages longer than
// `eager`, and synchronous ones, wait for their receivers. What is not there: contention within a
// switch, routes, noise, and what memory costs.
#pragma once

#include <functional>
#include <vector>

#include "collective/schedule.hpp"

namespace bench {

using dunnage::collective::Schedule;

struct Network {
  /// Ranks that follow each other share a unit: a host, a group of hosts, ...; from the smallest to
  /// the largest.
  struct Level {
    std::int32_t ranks;  // of each unit; those of a level are multiples of those of the level below
    double latency;      // seconds, between ranks of one unit of this level that share none below
    double byte_time;    // seconds a byte, of the link by which a unit is left and entered; 0: never full
  };
  std::vector<Level> levels;
  double latency = 0;      // seconds, between ranks that share no unit
  double byte_time = 0;    // seconds a byte, of a rank's ports
  double overhead = 0;     // seconds of a rank's time for each message that it begins
  std::int64_t eager = 0;  // bytes
};

struct Simulated {
  double seconds = 0;  // when the last rank has ended
  std::int64_t messages = 0;
  std::int64_t bytes = 0;    // of all messages
  std::int64_t outside = 0;  // bytes that left a unit of the lowest level
};

/// All ranks begin at once. `schedule(rank)` is asked once for each. Throws std::logic_error where
/// they do not fit each other.
Simulated simulate(const Network& network, std::int32_t ranks, const std::function<Schedule(std::int32_t)>& schedule);

}  // namespace bench
