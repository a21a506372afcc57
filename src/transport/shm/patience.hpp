// How to wait for another process that is at work.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/relax.hpp"

namespace dunnage::transport::shm {

/// Not thread-safe.
class Patience {
 public:
  /// `spins`: after how many turns the core is offered to others. A turn that costs much needs few.
  explicit Patience(int spins = 2000) : spins_(crowded() ? std::min(spins, spins_if_crowded) : spins) {}
  /// There are too few cores: a rank that keeps its core may keep the other rank from running. For
  /// all that is made later. Thread-safe.
  static void set_crowded(bool crowded) { crowded_.store(crowded, std::memory_order_relaxed); }
  static bool crowded() { return crowded_.load(std::memory_order_relaxed); }
  /// Waits a little. The first calls keep the core. Later calls offer the core to other threads.
  void wait() {
    turns_ = turns_ < spins_ + 1024 ? turns_ + 1 : spins_;
    if (turns_ < spins_) {
      base::relax();
      return;
    }
    sched_yield();
  }
  /// True every 20 ms or so, when it is time to ask whether the other process is still there.
  bool doubts() {
    if (turns_ < spins_ || turns_ % 64 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    const bool first = next_ == std::chrono::steady_clock::time_point{};
    next_ = now + std::chrono::milliseconds(20);
    return !first;
  }
  /// Whether some tens of microseconds have passed: enough for a process that may not come at all.
  bool long_enough() const { return turns_ >= std::max(spins_ / 2, 200); }
  /// The other process has shown itself: begin anew.
  void rest() { turns_ = 0; }

 private:
  static constexpr int spins_if_crowded = 20;
  inline static std::atomic<bool> crowded_{false};
  const int spins_;
  int turns_ = 0;  // from spins_ on, it counts in a circle
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace dunnage::transport::shm
