// Whether a communicator is gone. A persistent request may live longer than its communicator's
// handle, which then must not be used: another communicator may have got it.
#pragma once

#include <atomic>
#include <memory>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Tells of one communicator. Thread-safe.
class CommGone {
 public:
  /// Of no communicator: gone.
  CommGone() = default;
  /// Begins to watch a communicator. If the MPI lets nobody watch it, the communicator counts as
  /// gone.
  explicit CommGone(MPI_Comm comm);
  bool operator()() const { return !always_ && (!gone_ || gone_->load(std::memory_order_acquire)); }

 private:
  bool always_ = false;  // a communicator that lives as long as the MPI
  std::shared_ptr<const std::atomic<bool>> gone_;
};

}  // namespace dunnage::mpi
