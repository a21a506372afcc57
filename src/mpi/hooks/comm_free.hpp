// MPI_Comm_free while announced messages are under way. Intel MPI ends a program whose synchronous
// send is under way when its communicator is freed, at either side. A send that is announced is
// synchronous.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Returns when the receivers have begun to take all announced sends of this process on a
/// communicator, and this process has taken the messages for which its receives are under way. It
/// does not wait for the latter if several threads may be in the MPI, and for ten seconds at most.
/// MPI_Comm_free may wait: it is collective, and both sides must begin a message before they free
/// its communicator.
void await_peers_on(MPI_Comm comm);

template <class Fn>
int comm_free(Hook, Fn next, MPI_Comm* comm) {
  if (process->behaviour.loses_comm_of_sends && comm && !process->requests.empty()) await_peers_on(*comm);
  return next(comm);
}

}  // namespace dunnage::mpi
