#include "measure.hpp"

#include <chrono>

namespace bench {

namespace {

double seconds(const std::function<void()>& call, int calls) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int calls_per_sample(const std::function<void()>& call) {
  constexpr double enough = 20e-6;
  int calls = 1;
  while (seconds(call, calls) < enough) calls *= 2;
  return calls;
}

/// Calls `sample` for every series in every repetition. The order turns by one each time, so that
/// no series always follows the same other series.
template <class Sample>
void interleave(std::size_t series, int repetitions, Sample sample) {
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t i = 0; i < series; ++i) sample((i + static_cast<std::size_t>(repetition)) % series);
}

}  // namespace

void measure_cold(std::vector<Series>& series, int repetitions, const std::function<void()>& prepare) {
  for (auto& one : series) one.call();  // page faults and set-up at the first use
  interleave(series.size(), repetitions, [&](std::size_t i) {
    prepare();
    series[i].samples.push_back(seconds(series[i].call, 1));
  });
}

void measure_warm(std::vector<Series>& series, int repetitions) {
  std::vector<int> calls;
  for (auto& one : series) {
    one.call();
    calls.push_back(calls_per_sample(one.call));
  }
  interleave(series.size(), repetitions, [&](std::size_t i) {
    series[i].call();  // brings back into the caches what the last series has displaced
    series[i].samples.push_back(seconds(series[i].call, calls[i]) / calls[i]);
  });
}

}  // namespace bench
