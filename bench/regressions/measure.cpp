#include "regressions/measure.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "common/past.hpp"

namespace bench::regressions {
namespace {

using Clock = std::chrono::steady_clock;

void barrier() {
  static const auto function = BENCH_PAST(MPI_Barrier);
  function(MPI_COMM_WORLD);
}

/// Returns rank 0's value on both ranks.
int agreed(int value) {
  static const auto function = BENCH_PAST(MPI_Bcast);
  function(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

/// Returns the mean seconds of so many calls.
double timed(Call& call, Way way, int calls) {
  barrier();
  const auto start = Clock::now();
  for (int i = 0; i < calls; ++i) call.once(way);
  return std::chrono::duration<double>(Clock::now() - start).count() / calls;
}

/// Each pair begins with the other way.
Samples in_turn(Call& call, const Plan& plan, int batch, const std::function<void()>& prepare) {
  Samples samples;
  for (int i = 0; i < plan.repetitions; ++i)
    for (const bool second : {false, true}) {
      const auto way = (i % 2 == 0) != second ? Way::plain : Way::dunnage;
      prepare();
      (way == Way::plain ? samples.plain : samples.dunnage).push_back(timed(call, way, batch));
    }
  return samples;
}

/// Dunnage and the MPI also learn, and touch memory for the first time.
void warm_up(Call& call, const Plan& plan, const std::function<void()>& prepare) {
  constexpr int plain_calls = 3;
  for (int i = 0; i < plain_calls; ++i) call.once(Way::plain);
  for (int i = 0; i < plan.calls_before; ++i) {
    prepare();
    barrier();
    call.once(Way::dunnage);
  }
}

}  // namespace

Samples measure_warm(Call& call, const Plan& plan) {
  constexpr double enough = 100e-6;  // seconds of a sample
  constexpr double most = 100;
  warm_up(call, plan, [] {});
  const auto one = std::max(timed(call, Way::plain, 3), 1e-9);
  return in_turn(call, plan, agreed(static_cast<int>(std::clamp(enough / one, 1.0, most))), [] {});
}

Samples measure_cold(Call& call, const Plan& plan, const Subject& subject, const Evictor& evictor) {
  const auto evict = [&] { subject.evict(evictor); };
  warm_up(call, plan, evict);
  return in_turn(call, plan, 1, evict);
}

}  // namespace bench::regressions
