// MPI_Comm_free while announced sends are under way. Intel MPI ends a program whose synchronous
// send is under way when its communicator is freed, and a send that is announced is synchronous.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Returns when the receivers have begun to take all announced sends of this process on a
/// communicator. MPI_Comm_free may wait for that: it is collective, and a receiver must begin its
/// receive before it frees the communicator itself.
void await_receivers_on(MPI_Comm comm);

template <class Fn>
int comm_free(Hook, Fn next, MPI_Comm* comm) {
  if (process->behaviour.loses_comm_of_sends && comm && !process->requests.empty()) await_receivers_on(*comm);
  return next(comm);
}

}  // namespace dunnage::mpi
