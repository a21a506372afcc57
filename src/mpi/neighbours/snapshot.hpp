// What a rank sends in an exchange in place (MPI_IN_PLACE). The data lie where those of others are
// to come. So they are packed into other memory first, and sent from there.
#pragma once

#include <memory>

#include "memory/staging.hpp"
#include "mpi/neighbours/local_moves.hpp"

namespace dunnage::mpi {

/// Not thread-safe: a communicator's collectives come one at a time.
class Snapshot {
 public:
  /// `in_place`: its sends are of the receive buffers. `loops`: of this rank to itself, which are
  /// not copied. Takes memory: of the device if all data are in that of one device and its arena
  /// has room, else of the host. Throws device::Error, std::bad_alloc.
  Snapshot(LocalMoves::Loops loops, const Edges& in_place);
  /// The edges with sends from the copy. They live as long as this object.
  const Edges& edges() const { return edges_; }
  /// Packs what is in the receive buffers now. Returns an MPI error code.
  int take();
  std::int64_t bytes() const { return moves_ ? moves_->bytes() : 0; }
  /// Whether it was made for such data, and take() needs no more than a launch.
  bool fits(const Edges& in_place) const;

 private:
  std::vector<Side> sides_;  // of the data where they are
  memory::Staging memory_;
  Edges edges_;
  std::unique_ptr<LocalMoves> moves_;  // null if there are no data
};

}  // namespace dunnage::mpi
