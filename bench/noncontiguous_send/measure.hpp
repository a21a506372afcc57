// Ping-pongs of one scheme, without and with Dunnage in turn.
#pragma once

#include <vector>

#include "noncontiguous_send/schemes.hpp"

namespace bench {

struct Series {
  std::vector<double> seconds;  // of each ping-pong, on rank 0
  bool right = true;            // the bytes, on both ranks
};

struct Measurement {
  Series plain, dunnage;  // the latter empty where Dunnage is not loaded
};

/// `exchanges` ping-pongs of each series, each timed singly and with the caches flushed before it. Bytes are looked at after
/// a first exchange into a poisoned buffer, which is not timed, and once more at the end.
Measurement measure(const Scheme& scheme, const Payload& payload, const Flush& flush, int exchanges, bool dunnage);

/// The same answer on both ranks: that of `rank`.
bool agreed(bool answer, int rank);

}  // namespace bench
