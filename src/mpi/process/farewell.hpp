// How two ranks tell each other that one gives up what they do together, wherever they are: by an
// empty message on the private world, which comes only then.
#pragma once

#include "mpi/process/private_world.hpp"

namespace dunnage::mpi {

/// For one pair of ranks and one thing that they do. Not thread-safe.
class Farewell {
 public:
  /// Begins to listen. This rank says farewell by the tag of `tags`, and the other one by
  /// `other_tag`.
  Farewell(int rank, Tags tags, int other_tag);
  Farewell(const Farewell&) = delete;
  Farewell& operator=(const Farewell&) = delete;
  ~Farewell() { end(); }

  int rank() const { return rank_; }
  /// Whether the other rank has said farewell.
  bool came();
  /// Says farewell.
  void say();
  /// Listens no more.
  void end();

 private:
  const int rank_;
  Tags tags_;
  MPI_Request coming_ = MPI_REQUEST_NULL;
  bool came_ = false;
};

}  // namespace dunnage::mpi
