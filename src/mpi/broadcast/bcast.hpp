// MPI_Bcast by a window that the ranks of a host share (transport/shm/broadcast_ring.hpp), and
// between hosts by a schedule over the MPI's messages among one rank of each.
//
// Whether a broadcast is ours is decided alike by all ranks, without a message: by the setting, the
// communicator and the packed bytes, and by how many broadcasts of that size the communicator has
// had (collective/trial.hpp). Buffers and datatypes may differ from rank to rank.
#pragma once

#include <chrono>
#include <optional>

#include "mpi/broadcast/bcast_group.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// One call. Lives until the MPI has done it, where it is the MPI's: that is measured.
class Broadcast {
 public:
  /// Whether any may be ours. Three loads. Nothing that may differ between ranks is asked.
  static bool possible() {
    const auto how = process->settings.bcast;
    return how != base::Bcast::off && (how != base::Bcast::automatic || process->everyone) &&
           process->initialized.load(std::memory_order_relaxed);
  }
  /// Does it, if it is ours.
  Broadcast(Hook hook, MPI_Comm comm, void* buffer, std::int64_t count, MPI_Datatype type, int root);
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;
  ~Broadcast();
  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<int> code_;
  collective::Trial* trial_ = nullptr;  // that is told what the MPI took
  collective::Trial::Turn turn_ = collective::Trial::Turn::theirs;
  Clock::time_point start_;
};

}  // namespace dunnage::mpi
