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
  bool blocking = false;    ///< whether it is done when it returns, as Dunnage's functions are
  double last = 0;          ///< seconds of the last call, 0 before the first
  std::vector<double> samples = {};       ///< until it is done
  std::vector<double> synchronised = {};  ///< of a blocking one: until a wait for the device, which it needs not, is over too
};

struct Repetitions {
  int samples = 11, warm_ups = 2;

  // Calls that take longer than `slow` seconds are not warmed up, and there are `few` samples of them; of those that take longer
  // than `endless`, one.
  double slow = 0.1, endless = 1;
  int few = 3;

  int wanted(double last) const { return last > endless ? 1 : last > slow ? few : samples; }
};

/// Makes the call and waits for the device.
void call(Series& series, const Slot& slot, const Device& device);

/// Takes samples of all the series in turn, so that noise hits them all alike, and turns the order each time. Each call
/// takes the next of the slots.
void measure(std::vector<Series>& series, const std::vector<Slot>& slots, const Device& device,
             const Repetitions& repetitions);

}  // namespace bench
