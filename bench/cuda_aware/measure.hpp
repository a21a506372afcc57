// Samples of one series on two ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cuda_aware/exchange.hpp"

namespace bench {

struct Effort {
  double seconds = 0.2;        ///< of one series, about
  int least = 5, most = 1000;  ///< samples
};

/// How often a series is repeated, when one exchange has taken `took` seconds on rank 0; the same on both ranks.
int repetitions(const Effort& effort, double took);

struct Series {
  std::vector<double> seconds;  ///< of each exchange, on rank 0; half of it for the latency
  bool right = true;            ///< the bytes, on both ranks
};

/// Where the check is tried out: which byte of what was received is changed before it is looked at.
enum class Damage { none, first, last, gap };

/// Times exchanges one by one after some that are not, and looks at the bytes of one more, with new values and into poison.
/// `fresh`: before each, both ranks take new memory, which is not timed.
Series measure(Exchange& exchange, Buffers& buffers, Pattern& pattern, const Effort& effort, bool fresh, Damage damage);

/// Quantiles, and their number: there are too many samples to keep.
nlohmann::json quantiles(std::vector<double> samples);

}  // namespace bench
