// Times of broadcasts, taken in turn.
#pragma once

#include <string>
#include <vector>

#include "bcast/clock.hpp"
#include "bcast/ways.hpp"

namespace bench {

struct Case {
  std::int64_t bytes;
  bool rotated;     // the buffers
  bool all_roots;   // another root each time; else 0
};

struct Plan {
  int rounds = 10;          // times round all ways
  int most = 40;            // broadcasts of each way in a round, by each method
  double seconds = 4;       // that a case may take, about
  std::int64_t rotated = 64 << 20;  // bytes of rotated buffers, at least
};

struct Measured {
  std::vector<double> synchronised;  // seconds from the common start to the end of the last rank, each of one broadcast
  std::vector<double> loop;          // seconds a broadcast of several in a row, of the slowest rank, each of a round
  long late = 0;                     // broadcasts that were not counted, since a rank was late for their start
  bool right = true;
  std::int64_t messages = 0, bytes_received = 0;  // of one broadcast, over all ranks; 0 where the way does not tell
};

/// One for each way. Collective; the result is rank 0's.
std::vector<Measured> measure(const std::vector<NamedWay>& ways, const Case& c, const Plan& plan, const Start& start);

}  // namespace bench
