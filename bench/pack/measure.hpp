#pragma once

#include <functional>
#include <string>
#include <vector>

namespace bench {

/// One of several ways to do the same work.
struct Series {
  std::string name;
  std::function<void()> call;
  std::vector<double> samples = {};  ///< seconds per call
};

/// Takes `repetitions` samples of every series in turn, so that noise hits them all alike. A sample
/// is the time of one call. `prepare` runs before each sample.
void measure_cold(std::vector<Series>& series, int repetitions, const std::function<void()>& prepare);

/// Takes samples in turn without preparation. A sample is the mean of as many calls as take about
/// 20 us.
void measure_warm(std::vector<Series>& series, int repetitions);

}  // namespace bench
