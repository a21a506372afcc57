// Which processes of MPI_COMM_WORLD a communicator's ranks are.
#pragma once

#include "calls/mpi_table.hpp"

namespace dunnage::calls {

/// The rank in MPI_COMM_WORLD of a rank of `comm`; -1 for an intercommunicator, and for processes of other worlds.
/// Remembered with the communicator. Thread-safe.
int world_rank(MPI_Comm comm, int rank);
/// Frees the attribute key, before MPI_Finalize.
void forget_communicators();

}  // namespace dunnage::calls
