// Samples of one series on two ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cuda_aware/exchange.hpp"

namespace bench {

struct Effort {
  double seconds = 0.2;        ///< about how long one series may take
  int least = 5, most = 1000;  ///< samples
};

/// Returns how often a series is repeated if one exchange has taken `took` seconds on rank 0. The
/// result is the same on both ranks.
int repetitions(const Effort& effort, double took);

struct Series {
  std::vector<double> seconds;  ///< of each exchange, on rank 0; for the latency, half of the time
  bool right = true;            ///< whether the bytes were right, on both ranks
};

/// Tests the check itself: says which received byte is changed before it is checked.
enum class Damage { none, first, last, gap };

/// Times single exchanges after some warm-up exchanges. Then checks the bytes of one more exchange,
/// with new values and into poisoned memory. If `fresh` is true, both ranks take new memory before
/// each exchange, which is not timed.
Series measure(Exchange& exchange, Buffers& buffers, Pattern& pattern, const Effort& effort, bool fresh, Damage damage);

/// Returns the quantiles and the number of the samples. There are too many samples to keep.
nlohmann::json quantiles(std::vector<double> samples);

}  // namespace bench
