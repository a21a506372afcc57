// Both ranks of a message in host memory try who packs, the MPI or Dunnage, each by itself. What
// they have chosen they tell each other in shared memory, so that they do alike.
#pragma once

#include "mpi/process/process.hpp"
#include "plan/chooser.hpp"

namespace dunnage::mpi {

/// A message, for its other side.
struct OtherSide {
  int rank;  // in `comm`; may be MPI_ANY_SOURCE
  MPI_Comm comm;
  std::int64_t bytes;
};

/// What the other rank of a message has chosen, of which this rank asks `trial`. If one rank packs
/// and the other one does not, a message may take longer than with either candidate. Thread-safe.
plan::Chooser::Told told_by(const OtherSide& other, const plan::Chooser& trial) noexcept;

}  // namespace dunnage::mpi
