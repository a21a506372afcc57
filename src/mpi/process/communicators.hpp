// Which processes of MPI_COMM_WORLD a communicator's ranks are.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// The rank in MPI_COMM_WORLD of a rank of `comm`; -1 for an intercommunicator, and for processes
/// of other worlds. Remembered with the communicator. Thread-safe.
int world_rank(MPI_Comm comm, int rank);

/// Returns the rank under which the report counts messages to a rank: that in MPI_COMM_WORLD, or -1
/// if no report is wanted or the rank is not in it.
inline int counted_peer(MPI_Comm comm, int rank) {
  return process->reporting && rank >= 0 ? world_rank(comm, rank) : -1;
}

/// Whether all ranks of the communicator answer with yes. All ranks call it at a time, and get one
/// answer.
bool all_agree(MPI_Comm comm, bool here);

/// How many processes a collective on the communicator speaks to: all, or those of the other side.
int peers(MPI_Comm comm);
/// On the root what peers() returns; elsewhere 0, where the arguments mean nothing.
int peers_at_root(int root, MPI_Comm comm);
/// All processes of this side.
int members(MPI_Comm comm);

struct Neighbours {
  int in, out;
};
/// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH or MPI_UNDEFINED.
int topology(MPI_Comm comm);
/// How many neighbours this process has on a communicator with a topology.
Neighbours neighbours(MPI_Comm comm);

}  // namespace dunnage::mpi
