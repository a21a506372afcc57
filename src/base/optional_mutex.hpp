// A mutex for what one thread at a time uses in most programs.
#pragma once

#include <mutex>

namespace dunnage::base {

/// Can be switched off where no two threads ever need it at a time.
class OptionalMutex {
 public:
  OptionalMutex() = default;
  OptionalMutex(const OptionalMutex&) = delete;
  OptionalMutex& operator=(const OptionalMutex&) = delete;

  void lock() {
    if (on_) mutex_.lock();
  }
  void unlock() {
    if (on_) mutex_.unlock();
  }
  bool is_on() const { return on_; }
  /// Nobody holds it.
  void switch_off() { on_ = false; }

 private:
  std::mutex mutex_;
  bool on_ = true;
};

}  // namespace dunnage::base
