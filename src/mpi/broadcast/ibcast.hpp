// MPI_Ibcast and MPI_Bcast_init among ranks of one host: the root puts a copy of the data into its
// shared memory (transport/shm/publications.hpp) and is done, whatever the others do; the MPI's own
// operation, with a few bytes in place of the data, says where it is, in its order and with its
// progress. When that has completed on a rank, the rank reads the data.
//
// Whether a broadcast is ours is decided alike by all ranks, without a message and without waiting:
// by what they agreed on in MPI_Init (calls/tickets.cpp), the communicator, the packed bytes, and
// what the communicator's blocking broadcasts have found out. Nothing else may be asked there.
#pragma once

#include <optional>

#include "mpi/broadcast/bcast.hpp"
#include "transport/bootstrap_protocol.hpp"

namespace dunnage::mpi {

/// In MPI_Init, by all ranks at once, where broadcasts are possible: finds out who is where and
/// whether all have shared memory that others can read, and agrees on what broadcasts cost
/// (process->bcast).
void share_memory(int ranks);
/// Likewise by what all ranks have told each other without the MPI: the costs, and where the memory
/// of each rank is. `foreign`: some rank uses GPUs that Dunnage does not know.
void share_memory(const plan::BcastFigures& figures, const std::vector<transport::Place>& places, bool foreign);

/// One call.
class NonblockingBroadcast {
 public:
  /// Whether any may be ours. Four loads.
  static bool possible() { return process->shares && Broadcast::possible(); }
  NonblockingBroadcast(Hook hook, MPI_Comm comm, MPI_Request* request, void* buffer, std::int64_t count,
                       MPI_Datatype type, int root);
  /// MPI_Bcast_init.
  NonblockingBroadcast(Hook hook, MPI_Comm comm, MPI_Info info, MPI_Request* request, void* buffer, std::int64_t count,
                       MPI_Datatype type, int root);
  /// Whether it has been begun, and what the call is to return.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  template <class Begin>
  void begin(Hook hook, void* buffer, std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm,
             MPI_Request* request, bool persistent, Begin&& begin);
  std::optional<int> code_;
};

}  // namespace dunnage::mpi
