// A reduction that the ranks of a host do together: each reads the data of others in their GPUs'
// memory.
#pragma once

#include <optional>

#include "collective/reduction.hpp"
#include "mpi/reductions/group.hpp"

namespace dunnage::mpi {

/// The arguments of a call.
struct ReductionArguments {
  Hook hook;
  collective::ReductionKind kind;
  const void* send;                   // may be MPI_IN_PLACE
  void* receive;                      // means nothing in MPI_Reduce beside the root
  std::int64_t total;                 // elements of each rank's data
  std::int64_t begin = 0, count = 0;  // MPI_Reduce_scatter: what this rank gets
  MPI_Datatype type;
  MPI_Op op;
  int root = 0;

  bool in_place() const { return send == MPI_IN_PLACE; }
  const void* input() const { return in_place() ? receive : send; }
};

/// All ranks of the group call it at a time. Returns an MPI error code, or nothing on all ranks if
/// the MPI has to do the call. Then no buffer has been touched. Calls no error handler.
std::optional<int> reduce_together(ReductionGroup& group, const ReductionArguments& arguments);
/// As above, by all ranks of several hosts, for MPI_Allreduce.
std::optional<int> reduce_together(Hosts& hosts, const ReductionArguments& arguments);

}  // namespace dunnage::mpi
