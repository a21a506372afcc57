// Times of broadcasts. The ways take turns.
#pragma once

#include <string>
#include <vector>

#include "bcast/clock.hpp"
#include "bcast/ways.hpp"

namespace bench {

struct Case {
  std::int64_t bytes;
  bool rotated;    // whether buffers are rotated
  bool all_roots;  // whether another rank is root each time; else rank 0
};

struct Plan {
  int rounds = 10;                  // number of rounds through all ways
  int most = 40;                    // broadcasts of each way in a round, by each method
  double seconds = 4;               // about how long a case may take
  std::int64_t rotated = 64 << 20;  // least bytes of rotated buffers
};

struct Measured {
  /// Seconds from the common start to the end of the last rank, one for each broadcast.
  std::vector<double> synchronised;
  /// Seconds of a broadcast in a loop of several, on the slowest rank, one for each round.
  std::vector<double> loop;
  /// Broadcasts that were not counted, because a rank was late for their start.
  long late = 0;
  bool right = true;
  // Of one broadcast, over all ranks; 0 if the way does not tell.
  std::int64_t messages = 0, bytes_received = 0;
};

/// Measures all ways; the result has one member for each. Collective. The result is valid on rank
/// 0.
std::vector<Measured> measure(const std::vector<NamedWay>& ways, const Case& c, const Plan& plan, const Start& start);

}  // namespace bench
