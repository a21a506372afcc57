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
  unsigned calls = 0;  // until then

  ~Neighbourhood();
};

/// That of a communicator. Null if the MPI has no attributes to give. A communicator's collectives
/// come one at a time.
Neighbourhood* neighbourhood(MPI_Comm comm);

/// Whose the next blocking collective is: the MPI's, Dunnage's, or that which the ranks agree on.
/// All ranks get one answer. They ask each other at calls 1, 2, 4, 8 and so on, until one of them
/// uses a GPU. Counts the call.
enum class Turn { theirs, asked, ours };
Turn next_turn(Neighbourhood& hood);

/// All ranks of the communicator call it if it is Turn::asked, in a collective that may wait for
/// all of them. Returns whether this collective and all later ones are Dunnage's. `uses_gpu`: of
/// this rank.
bool agree(Neighbourhood& hood, MPI_Comm comm, bool uses_gpu);

}  // namespace dunnage::mpi
