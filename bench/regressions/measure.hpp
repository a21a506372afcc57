#pragma once

#include <vector>

#include "common/evict.hpp"
#include "regressions/calls.hpp"

namespace bench::regressions {

struct Samples {
  std::vector<double> plain, dunnage;  // seconds of a call; pairs were measured one after the other
};

struct Plan {
  int repetitions;   // pairs of samples
  int calls_before;  // through Dunnage, unmeasured: it may still try which way is faster
};

/// Measures a call warm: each sample is the mean of calls in a row. Collective over two ranks; rank
/// 0 has the samples.
Samples measure_warm(Call& call, const Plan& plan);

/// Measures a call cold: each sample is one call, and no cache has the buffers when it begins.
Samples measure_cold(Call& call, const Plan& plan, const Subject& subject, const Evictor& evictor);

}  // namespace bench::regressions
