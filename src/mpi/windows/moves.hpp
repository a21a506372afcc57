// The data that the operations of a window's epoch move between device memories. They go together:
// at the next synchronization, or as soon as there is enough for a launch.
#pragma once

#include <mutex>
#include <vector>

#include "memory/landing.hpp"
#include "mpi/message/device_landing.hpp"

namespace dunnage::mpi {

/// Thread-safe.
class WindowMoves {
 public:
  /// Begins to move `bytes` from one buffer to the other, of which one is the window's. Data that
  /// no kernel moves alone are there when the call returns. `mapping` lives until the end. Returns
  /// an MPI error code.
  int add(const memory::Buffer& from, const memory::Buffer& to, std::int64_t bytes,
          std::shared_ptr<const void> mapping = nullptr);
  /// Waits until all data are there. Returns an MPI error code.
  int complete();

 private:
  using Move = ScopedTransfers::Move;
  /// Longer data are not held back: to move them takes longer than to launch.
  static constexpr std::int64_t worth_a_launch = 4 << 20;
  static constexpr std::size_t most_together = 64;
  void launch();

  std::mutex mutex_;
  CUcontext context_ = nullptr;
  std::vector<Move> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::vector<ScopedTransfers> flights_;
};

}  // namespace dunnage::mpi
