#pragma once

#include <vector>

namespace bench {

struct Summary {
  double median, trimean, p10, p90;
};

/// Of at least one sample. Percentiles interpolate between neighbours.
Summary summarize(std::vector<double> samples);

}  // namespace bench
