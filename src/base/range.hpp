// Ranges on the timeline of NVIDIA's tools (NVTX). Nothing, but for one load, unless they were asked for.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::base {

/// Switches them on. False where they were not built in. The tool, if there is one, is loaded by the first range.
bool show_ranges();

extern std::atomic<bool> ranges_shown;

/// One range of the calling thread, while it lives. Ranges nest.
class Range {
 public:
  /// `name` must live as long as the process. `bytes`: the range's payload.
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
