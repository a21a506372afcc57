#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One way of doing the same work.
struct Series {
  std::string name;
  std::function<void()> call;
  std::vector<double> samples = {};  ///< seconds per call
};

/// Takes `repetitions` samples of every series in turn, so that noise hits them all alike; `prepare` runs before each
/// sample, and one call is timed.
void measure_cold(std::vector<Series>& series, int repetitions, const std::function<void()>& prepare);

/// The same without preparation; a sample is the mean of as many calls as take about 20 us.
void measure_warm(std::vector<Series>& series, int repetitions);

}  // namespace bench
