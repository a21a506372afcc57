// The communicators of messages that a probe has matched (MPI_Mprobe, MPI_Improbe). A receive of
// such a message is given the message only, and raises errors on its communicator.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// A probe on `comm` has matched this message. Thread-safe.
void note_matched(MPI_Message message, MPI_Comm comm);
/// The communicator of a message that is about to be received, and is then forgotten. Returns
/// MPI_COMM_WORLD if the communicator is not known or has been freed. Thread-safe.
MPI_Comm comm_of_matched(const MPI_Message* message);

}  // namespace dunnage::mpi
