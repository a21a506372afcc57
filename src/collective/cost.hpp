// What a broadcast costs by formula, and the best length of segments, in the LogGP model with one port each way (collective/simulate.hpp, which is right where
// this is near). Source: the formulas of the papers that the algorithms are from (collective/scatter.cpp, circulant.hpp), with what a message costs its two ranks apart from
// its latency: the latter is hidden where segments follow each other.
#pragma once

#include "collective/bcast.hpp"

namespace dunnage::collective {

struct LogGP {
  double latency = 0;    // seconds
  double overhead = 0;   // seconds of a rank's time for each message that it begins to send or receive
  double byte_time = 0;  // seconds a byte
};

/// Seconds. `b.segment` as it is to be used.
double cost(BcastAlgorithm algorithm, const Bcast& b, const LogGP& network);
/// Bytes, a multiple of 64; all of the message where it is best not divided, and 0 for algorithms that have no segments.
std::int64_t best_segment(BcastAlgorithm algorithm, const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
