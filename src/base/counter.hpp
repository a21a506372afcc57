// A number that several threads may change, though in most programs one at a time does.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::base {

/// Says nothing about other memory. Thread-safe until one_thread_at_a_time() is called.
class Counter {
 public:
  std::int64_t load() const { return number_.load(std::memory_order_relaxed); }
  void add(std::int64_t more) {
    if (atomic_)
      number_.fetch_add(more, std::memory_order_relaxed);
    else
      number_.store(load() + more, std::memory_order_relaxed);
  }
  /// From now on no two threads change it at a time, which saves the processor an atomic operation.
  void one_thread_at_a_time() { atomic_ = false; }

 private:
  std::atomic<std::int64_t> number_{0};
  bool atomic_ = true;
};

}  // namespace dunnage::base
