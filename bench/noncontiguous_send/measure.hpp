// Ping-pongs of one scheme. Those without and with Dunnage take turns.
#pragma once

#include <vector>

#include "noncontiguous_send/schemes.hpp"

namespace bench {

struct Series {
  std::vector<double> seconds;  // of each ping-pong, on rank 0
  bool right = true;            // whether the bytes were right, on both ranks
};

struct Measurement {
  Series plain, dunnage;  // `dunnage` is empty if Dunnage is not loaded
};

/// Measures `exchanges` ping-pongs of each series. Each is timed by itself, after the caches were
/// flushed. The bytes are checked after a first exchange into a poisoned buffer, which is not
/// timed, and once more at the end.
Measurement measure(const Scheme& scheme, const Payload& payload, const Flush& flush, int exchanges, bool dunnage);

/// Returns `rank`'s answer on both ranks.
bool agreed(bool answer, int rank);

}  // namespace bench
