#pragma once

#include <vector>

namespace bench {

struct Summary {
  double median, trimean, p10, p90;
};

/// Returns the statistics of one or more samples. Percentiles are interpolated between neighbours.
Summary summarize(std::vector<double> samples);

}  // namespace bench
