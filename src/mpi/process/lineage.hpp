// Which communicator this is, in words that its ranks need no message to agree on.
//
// All ranks of a communicator make the calls that create others from it in one order. So the
// parent's lineage and the number of the call name what the call has made. One call may make
// several communicators (MPI_Comm_split). They share a lineage, and no two of them share a rank.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// A hash. Plain numbers: they travel in messages.
using Lineage = std::array<std::uint64_t, 2>;

/// What this process keeps with a communicator whose lineage is known.
class Origin {
 public:
  explicit Origin(const Lineage& lineage);
  Origin(const Origin&) = delete;
  Origin& operator=(const Origin&) = delete;
  ~Origin();

  const Lineage& lineage() const { return lineage_; }
  /// The lineage of what the next call makes of this communicator. Counts the call.
  Lineage next_child();
  /// How many messages to (`sends`) or from a peer with a tag were initialised before this one.
  /// Counts it. Thread-safe.
  std::uint32_t next_message(bool sends, int peer, int tag);
  /// Becomes true when the communicator is gone. Requests may live longer.
  std::shared_ptr<const std::atomic<bool>> gone() const { return gone_; }

 private:
  struct Counts;
  const Lineage lineage_;
  std::uint64_t children_ = 0;
  const std::unique_ptr<Counts> counts_;
  const std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
};

/// Null if the lineage of a communicator is not known. All ranks of the communicator get one
/// answer. Thread-safe for different communicators.
Origin* origin_of(MPI_Comm comm);

/// A call that all ranks of `parent` make in one order has returned, with `child` or without one.
void note_child(MPI_Comm parent, const MPI_Comm* child);

}  // namespace dunnage::mpi
