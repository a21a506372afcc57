// The work that the program has put into the default stream of its context, for which MPI calls may
// be asked to wait (DUNNAGE_DEFAULT_STREAM).
#pragma once

#include <mutex>

#include "device/driver.hpp"

namespace dunnage::device {

/// One for each context. Thread-safe.
class DefaultStream {
 public:
  explicit DefaultStream(const Driver& driver) : driver_(driver) {}
  /// Returns when the work is done that was in the default stream of the current context before.
  /// Does not wait for other streams, as cuStreamSynchronize of the default stream would. Throws
  /// Error.
  void wait();
  /// Gives back what wait() has made. No other call may be running.
  void release();

 private:
  const Driver& driver_;
  std::mutex mutex_;
  CUstream behind_ = nullptr;  // a blocking stream: what is put into it waits for the default stream
  CUdeviceptr words_ = 0;      // of device memory, to be copied in it
};

}  // namespace dunnage::device
