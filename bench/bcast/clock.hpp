// How ranks begin at once: at an agreed time of a clock that they share, where they do; else when they come out of a barrier.
#pragma once

namespace bench {

class Start {
 public:
  /// Collective.
  Start();
  /// Whether all ranks have one clock: they run on one machine, though it may stand for several.
  bool shared_clock() const { return shared_; }
  /// Returns when it is time, on all ranks, with that time in seconds. `late` is set where it was over before this rank knew of it.
  double together(bool& late) const;

 private:
  bool shared_ = false, crowded_ = false;
  int ranks_ = 0;
};

/// Seconds.
double now();

}  // namespace bench
