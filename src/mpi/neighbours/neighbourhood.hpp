// What is kept with a communicator that has a topology, for its neighbour collectives.
#pragma once

#include <vector>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// One edge of the topology. Messages along several edges between two ranks are told apart by their
/// tags, or, where the tags agree, by their order.
struct Edge {
  int peer;  // may be MPI_PROC_NULL
  int tag;
};

struct Neighbourhood {
  /// Empty unless the communicator has a topology and all its ranks are in MPI_COMM_WORLD. The
  /// ranks agree on that without a message.
  std::vector<Edge> sources, targets;
  bool possible = false;
  /// For the messages; MPI_COMM_NULL until the ranks have agreed to exchange them by Dunnage.
  MPI_Comm messages = MPI_COMM_NULL;
  int calls = 0;  // until then

  ~Neighbourhood();
};

/// That of a communicator. Null if the MPI has no attributes to give. A communicator's collectives
/// come one at a time.
Neighbourhood* neighbourhood(MPI_Comm comm);

/// All ranks of the communicator call it in a collective that may wait for all of them. Returns
/// whether their messages are Dunnage's. The ranks agree on that as soon as CUDA's driver is loaded
/// on one of them. They ask again at calls 1, 2, 4, 8 and so on, up to 1024.
bool agreed(Neighbourhood& hood, MPI_Comm comm);

}  // namespace dunnage::mpi
