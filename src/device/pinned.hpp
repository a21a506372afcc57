// Page-locked host memory of one context, kept for the next copies: making it costs far more than using it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "device/driver.hpp"

namespace dunnage::device {

/// Thread-safe. Sizes are rounded up to powers of two.
class PinnedPool {
 public:
  explicit PinnedPool(const Driver& driver) : driver_(driver) {}

  /// At least `size` bytes, made in the current context; null where the pool would have more than `limit` bytes in all, or where there is
  /// none. Other memory will do then.
  char* take(std::size_t size, std::size_t limit);
  /// One that is idle, in whatever context; null where there is none.
  char* take_idle(std::size_t size);
  void give(char* data, std::size_t size);
  /// Frees what is idle, in the current context. What is given back later goes with the context.
  void release();

 private:
  static constexpr int smallest = 12;  // 4 KiB
  static int shelf_of(std::size_t size);

  const Driver& driver_;
  std::mutex mutex_;
  std::array<std::vector<char*>, 64> idle_;
  std::array<std::size_t, 64> made_{};
  std::size_t all_ = 0;  // bytes, idle or not
  bool released_ = false;
};

}  // namespace dunnage::device
