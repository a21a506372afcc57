#include "measure.hpp"

#include <chrono>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Makes the call and returns the seconds until it returned.
double returned(Series& series, const Slot& slot, const Device& device) {
  const auto start = Clock::now();
  series.call(slot);
  const auto back = Clock::now();
  device.wait();
  series.last = seconds(Clock::now() - start);
  return seconds(back - start);
}

}  // namespace

void call(Series& series, const Slot& slot, const Device& device) { returned(series, slot, device); }

void measure(std::vector<Series>& series, const std::vector<Slot>& slots, const Device& device,
             const Repetitions& repetitions) {
  std::size_t turn = 0;
  for (int r = -repetitions.warm_ups; r < repetitions.samples; ++r)
    for (std::size_t i = 0; i < series.size(); ++i) {
      Series& one = series[(i + static_cast<std::size_t>(r + repetitions.warm_ups)) % series.size()];
      const bool enough =
          r < 0 ? one.last > repetitions.slow : static_cast<int>(one.samples.size()) >= repetitions.wanted(one.last);
      if (enough) continue;
      const double back = returned(one, slots[turn++ % slots.size()], device);
      if (r < 0) continue;
      one.samples.push_back(one.blocking ? back : one.last);
      if (one.blocking) one.synchronised.push_back(one.last);
    }
}

}  // namespace bench
