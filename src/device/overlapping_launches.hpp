// Launches of kernels that begin while the kernel in front of them ends, which CUDA calls
// programmatic dependent launch (CUDA C++ programming guide, "Programmatic dependent launch and
// synchronization").
//
// From one kernel of a stream to the next a GPU needs 1.6 us, and 0.6 us if the next kernel is
// launched like that (H200; docs/decisions/0033-kernel-graphs.md). The kernel waits itself until
// those in front of it have ended and their stores are visible: await_kernels_before() in
// pack/cuda/overlap.hpp.
#pragma once

#include <cstdint>

#include "device/driver.hpp"

namespace dunnage::device {

/// Of one context. Thread-safe once look() has returned.
class OverlappingLaunches {
 public:
  explicit OverlappingLaunches(const Driver& driver) : driver_(driver) {}
  /// Finds out whether the driver and the kernels can. `kernel`: any kernel of ours.
  void look(CUfunction kernel);
  /// Whether launch() can put a kernel into the stream.
  bool possible(CUstream stream) const;
  /// Puts a kernel with one parameter into a stream of the current context. The kernel must call
  /// await_kernels_before() first of all. Throws Error.
  void launch(CUfunction kernel, std::uint32_t blocks, std::uint32_t threads, CUstream stream, void* parameter) const;

 private:
  const Driver& driver_;
  bool can_ = false;
};

}  // namespace dunnage::device
