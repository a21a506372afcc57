// Nonblocking collectives of one kind on one communicator, which the ranks agree on without waiting
// for each other. Their messages go by the private world, because a communicator of their own could
// only be made by a call that waits.
#pragma once

#include <map>

#include "mpi/neighbours/neighbourhood.hpp"
#include "transport/shm/agreement.hpp"

namespace dunnage::mpi {

/// Not thread-safe: a communicator's collectives come one at a time.
class UnaskedKind {
 public:
  /// `kind`: different for the kinds of collectives of a communicator.
  UnaskedKind(MPI_Comm comm, std::uint64_t kind);
  /// Returns what the messages of the call that begins now go by; null if it is not ours. All ranks
  /// get one answer. Counts the call. `wants()`: whether this rank has device memory in it. It is
  /// asked if that matters, and must not throw.
  template <class Wants>
  std::shared_ptr<MessageComm> begin(Wants&& wants) {
    if (!messages_) return nullptr;
    return transport::shm::agreed(shared_ ? *shared_ : alone_, ++calls_, wants) ? messages_ : nullptr;
  }

 private:
  std::shared_ptr<MessageComm> messages_;        // null if there can be no agreement
  transport::shm::Agreement* shared_ = nullptr;  // null if this rank is alone in the communicator
  transport::shm::Agreement alone_;
  std::uint64_t calls_ = 0;
};

/// Those of a communicator, by their kinds.
using UnaskedKinds = std::map<std::uint64_t, UnaskedKind>;

}  // namespace dunnage::mpi
