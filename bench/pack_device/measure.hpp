#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "arena.hpp"

namespace bench {

/// One of several ways to do the same work. Samples are in seconds.
struct Series {
  std::string name;
  std::function<void(const Slot&)> call;
  bool verified = true;              ///< whether its bytes are right; has no meaning if `moves` is false
  bool moves = true;                 ///< whether it does the operation; else it is a probe
  bool blocking = false;             ///< whether it is done when it returns, as Dunnage's functions are
  double last = 0;                   ///< seconds of the last call, 0 before the first
  std::vector<double> samples = {};  ///< until the work is done
  /// For a blocking call: until a wait for the device, which the call does not need, is over too.
  std::vector<double> synchronised = {};
};

/// The ways of one operation, and the reasons for those that there are not.
struct Ways {
  std::vector<Series> series;
  std::map<std::string, std::string> skipped;
};

struct Repetitions {
  int samples = 11, warm_ups = 2;

  // A call that takes longer than `slow` seconds is not warmed up and has only `few` samples. A
  // call that takes longer than `endless` seconds has one sample.
  double slow = 0.1, endless = 1;
  int few = 3;

  int wanted(double last) const { return last > endless ? 1 : last > slow ? few : samples; }
};

/// Makes the call and waits for the device.
void call(Series& series, const Slot& slot, const Device& device);

/// Takes samples of all series in turn, so that noise hits them all alike. The order turns each
/// time. Each call takes the next slot.
void measure(std::vector<Series>& series, const std::vector<Slot>& slots, const Device& device,
             const Repetitions& repetitions);

}  // namespace bench
