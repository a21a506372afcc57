// Kernels that are recorded once as a CUDA graph, and put into streams again and again.
//
// The driver launches a graph in less than half of the time that it takes for one kernel. To make
// many graphs may wait for kernels that run (docs/decisions/0033-kernel-graphs.md). So they are
// made where waiting is allowed, and a process has few.
#pragma once

#include <utility>

#include "device/driver.hpp"

namespace dunnage::device {

/// Movable. Not thread-safe. Two launches of one graph do not run at the same time.
class RecordedGraph {
 public:
  /// So many there are in a process, at most. With 65 graphs in a process the driver takes memory.
  static constexpr int most = 40;

  RecordedGraph() = default;
  /// Records what `put()` puts into a stream of the current context, in which nothing runs then.
  /// Empty if `put()` puts nothing there, if the driver cannot record, or if there are `most`
  /// others. Throws what `put()` throws.
  template <class Put>
  RecordedGraph(const Driver& driver, CUstream stream, Put&& put) : driver_(&driver) {
    if (!begin(stream)) return;
    try {
      put();
    } catch (...) {
      end(stream, false);
      throw;
    }
    end(stream, true);
  }
  RecordedGraph(RecordedGraph&& other) noexcept : driver_(other.driver_), made_(std::exchange(other.made_, nullptr)) {}
  RecordedGraph& operator=(RecordedGraph&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(made_, other.made_);
    return *this;
  }
  /// The context must exist.
  ~RecordedGraph();

  explicit operator bool() const { return made_ != nullptr; }
  /// Puts the kernels into a stream of the context, which no program captures. Throws Error.
  void launch(CUstream stream) const;

 private:
  bool begin(CUstream stream) const;
  void end(CUstream stream, bool make);

  const Driver* driver_ = nullptr;
  CUgraphExec made_ = nullptr;
};

}  // namespace dunnage::device
