// How much work this process has given to its GPUs, for the report.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::device {

/// Relaxed counters: they are read at the end.
struct Launches {
  std::atomic<std::uint64_t> kernels{0}, copies{0}, waits{0};  // waits: for the default stream
  void kernel() { kernels.fetch_add(1, std::memory_order_relaxed); }
  void wait() { waits.fetch_add(1, std::memory_order_relaxed); }
  void copy() { copies.fetch_add(1, std::memory_order_relaxed); }
};
inline constinit Launches launches;

}  // namespace dunnage::device
