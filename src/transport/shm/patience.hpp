// How to wait for another process that is at work.
#pragma once

#include <sched.h>

#include <chrono>

namespace dunnage::transport::shm {

/// Waits a little at each call: first without giving up the core, then giving it to whoever wants it.
class Patience {
 public:
  void wait() {
    turns_ = turns_ < spins + 1024 ? turns_ + 1 : spins;
    if (turns_ < spins) {
      __builtin_ia32_pause();
      return;
    }
    sched_yield();
  }
  /// True now and then, when it is time to ask whether the other is still there.
  bool doubts() {
    if (turns_ < spins || turns_ % 64 != 0) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    const bool first = next_ == std::chrono::steady_clock::time_point{};
    next_ = now + std::chrono::milliseconds(20);
    return !first;
  }
  /// Whether one who may not come at all has been waited for long enough: some tens of microseconds.
  bool long_enough() const { return turns_ >= spins / 2; }
  void rest() { turns_ = 0; }

 private:
  static constexpr int spins = 2000;
  int turns_ = 0;  // round and round once it has begun to yield
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace dunnage::transport::shm
