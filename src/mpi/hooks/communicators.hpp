// Calls that make a communicator from another.
#pragma once

#include <tuple>

#include "mpi/process/lineage.hpp"

namespace dunnage::mpi {

/// The last argument is the new communicator.
template <class Fn, class... Args>
int communicator(Hook, Fn next, MPI_Comm parent, Args... args) {
  const int rc = next(parent, args...);
  note_child(parent, rc == MPI_SUCCESS ? std::get<sizeof...(args) - 1>(std::tie(args...)) : nullptr);
  return rc;
}

}  // namespace dunnage::mpi
