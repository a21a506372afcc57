// How ranks begin at once. If they share a clock, they begin at an agreed time; else when they
// leave a barrier.
#pragma once

namespace bench {

class Start {
 public:
  /// Collective.
  Start();
  /// Returns whether all ranks have one clock, because they run on one machine. That machine may
  /// stand for several hosts.
  bool shared_clock() const { return shared_; }
  /// Waits for the start on all ranks and returns its time in seconds. `late` is set if the start
  /// was over before this rank knew of it.
  double together(bool& late) const;

 private:
  bool shared_ = false, crowded_ = false;
  int ranks_ = 0;
};

/// Returns the time in seconds.
double now();

}  // namespace bench
