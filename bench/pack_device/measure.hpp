#pragma once

#include <functional>
#include <string>
#include <vector>

#include "arena.hpp"

namespace bench {

/// One way of doing the same work. Samples are seconds.
struct Series {
  std::string name;
  std::function<void(const Slot&)> call;
  bool verified = true;     ///< whether its bytes are right; of no meaning where `moves` is false
  bool moves = true;        ///< whether it does the operation; else it is a probe
  bool blocking = false;    ///< whether it claims to be done when it returns, as MPI's functions do
  std::vector<double> samples = {};   ///< until the device has nothing left to do
  std::vector<double> returned = {};  ///< until the call returned
};

struct Repetitions {
  int samples = 11, warm_ups = 2;
  double slow = 0.1;  ///< seconds; of calls that take longer there are `few` samples and one warm-up
  int few = 3;
};

/// Takes samples of all the series in turn, so that noise hits them all alike, and turns the order each time. Each call
/// takes the next of the slots.
void measure(std::vector<Series>& series, const std::vector<Slot>& slots, const Device& device,
             const Repetitions& repetitions);

}  // namespace bench
