// MPI_Init and MPI_Init_thread.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Before MPI_Init: looks for the other ranks (introduce.hpp).
void prepare();
/// After an MPI_Init that has failed.
void give_up();
/// After MPI_Init: finds out who takes part, and from now on this process can be sent
/// announcements. Does nothing if that cannot be.
void join();

template <class... Arguments>
int init(Hook, int (*next)(Arguments...), Arguments... arguments) {
  prepare();
  const int rc = next(arguments...);
  if (rc == MPI_SUCCESS) {
    process->initialized = true;
    join();
  } else if (!process->initialized) {
    give_up();
  }
  return rc;
}

}  // namespace dunnage::mpi
