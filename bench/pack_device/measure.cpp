#include "measure.hpp"

#include <chrono>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void measure(std::vector<Series>& series, const std::vector<Slot>& slots, const Device& device,
             const Repetitions& repetitions) {
  std::size_t turn = 0;
  std::vector<double> last(series.size(), 0);
  for (int r = -repetitions.warm_ups; r < repetitions.samples; ++r)
    for (std::size_t i = 0; i < series.size(); ++i) {
      const std::size_t which = (i + static_cast<std::size_t>(r + repetitions.warm_ups)) % series.size();
      Series& one = series[which];
      if (last[which] > repetitions.slow && (r < 0 || static_cast<int>(one.samples.size()) >= repetitions.few)) continue;
      const Slot slot = slots[turn++ % slots.size()];
      const auto start = Clock::now();
      one.call(slot);
      const auto back = Clock::now();
      device.wait();
      const auto end = Clock::now();
      last[which] = seconds(end - start);
      if (r < 0) continue;
      one.samples.push_back(last[which]);
      if (one.blocking) one.returned.push_back(seconds(back - start));
    }
}

}  // namespace bench
