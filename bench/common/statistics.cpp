#include "common/statistics.hpp"

#include <algorithm>
#include <cstddef>

namespace bench {

Summary summarize(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto quantile = [&samples](double share) {
    const double place = share * static_cast<double>(samples.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto above = std::min(below + 1, samples.size() - 1);
    return samples[below] + (place - static_cast<double>(below)) * (samples[above] - samples[below]);
  };
  const double median = quantile(0.5);
  return {median, (quantile(0.25) + 2 * median + quantile(0.75)) / 4, quantile(0.1), quantile(0.9)};
}

}  // namespace bench
