// Ranges on the timeline of NVIDIA's tools (NVTX). If ranges are off, each costs one load.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::base {

/// Switches ranges on. Returns false if Dunnage was built without NVTX. The first range loads the
/// tool that shows the ranges, if there is one.
bool show_ranges();

extern std::atomic<bool> ranges_shown;

/// A range of the calling thread, from construction to destruction. Ranges nest.
class Range {
 public:
  /// `name` must live as long as the process. `bytes` becomes the payload of the range.
  Range(const char* name, std::int64_t bytes) : shown_(ranges_shown.load(std::memory_order_relaxed)) {
    if (shown_) push(name, bytes);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (shown_) pop();
  }

 private:
  static void push(const char* name, std::int64_t bytes);
  static void pop();
  const bool shown_;
};

}  // namespace dunnage::base
