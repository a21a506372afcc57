// What a broadcast costs by formula, and the best length of segments, in the LogGP model with one
// port in each direction.
//
// Source: the formulas of the papers that the algorithms come from (collective/scatter.cpp,
// circulant.hpp). The time that a message costs its two ranks is counted apart from its latency,
// because the latency is hidden if segments follow each other.
#pragma once

#include "collective/bcast.hpp"

namespace dunnage::collective {

/// A network in the LogGP model.
struct LogGP {
  double latency = 0;  // seconds
  // Seconds that a rank spends on each message that it begins to send or receive.
  double overhead = 0;
  double byte_time = 0;  // seconds a byte
};

/// Returns the predicted time in seconds. `b.segment` is the length of segments to be used.
double cost(BcastAlgorithm algorithm, const Bcast& b, const LogGP& network);
/// Returns the best length of segments in bytes: a multiple of 64, or the length of the message if
/// it is best undivided. Returns 0 for algorithms without segments.
std::int64_t best_segment(BcastAlgorithm algorithm, const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
