// MPI_Init and MPI_Init_thread.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// After MPI_Init: finds out who takes part, and from now on this process can be sent
/// announcements. Does nothing if that cannot be.
void join();

template <class... Arguments>
int init(Hook, int (*next)(Arguments...), Arguments... arguments) {
  const int rc = next(arguments...);
  if (rc == MPI_SUCCESS) {
    process->initialized = true;
    join();
  }
  return rc;
}

}  // namespace dunnage::mpi
