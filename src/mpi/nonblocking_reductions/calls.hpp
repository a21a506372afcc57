// Nonblocking and persistent reductions on device memory within a host (docs/decisions,
// number 21).
//
// A nonblocking call waits for nobody. So it is Dunnage's if the ranks have found out in a blocking
// or an _init call that such reductions are, or else by an agreement (mpi/neighbours/unasked.hpp).
#pragma once

#include "mpi/nonblocking_reductions/reduction_way.hpp"
#include "mpi/reductions/reduction.hpp"

namespace dunnage::mpi {

/// Makes what the nonblocking reductions of a communicator need. All its ranks call it at a time.
void connect_reductions(MPI_Comm comm);

/// A blocking reduction. `data`: the arguments before the communicator.
class BlockingReduction : public ReductionOfAll {
 public:
  template <class... Data>
  BlockingReduction(Hook hook, MPI_Comm comm, Data... data) : ReductionOfAll(hook, comm, data...) {
    if (done()) connect(comm);
  }

 private:
  void connect(MPI_Comm comm);
};

// The arguments of a call but its communicator. The result of all ranks is alike, but for `root`
// and the buffers.

/// Of all but MPI_Reduce and MPI_Reduce_scatter. `Count`: int or MPI_Count.
template <class Count>
ReductionCall reduction_call(const ReductionGroup& group, Hook hook, const void* send, void* receive, Count count,
                             MPI_Datatype type, MPI_Op op) {
  ReductionCall call{{hook, reduction_kind_of(hook), send, receive, count, 0, 0, type, op}, {}};
  if (call.arguments.kind != collective::ReductionKind::reduce_scatter) return call;
  call.arguments.total = std::int64_t{count} * group.ranks();
  for (std::uint32_t rank = 0; rank < group.ranks(); ++rank) call.blocks.push_back({std::int64_t{count} * rank, count});
  return call;
}
/// Of MPI_Reduce_scatter.
template <class Count>
ReductionCall reduction_call(const ReductionGroup& group, Hook hook, const void* send, void* receive,
                             const Count* counts, MPI_Datatype type, MPI_Op op) {
  ReductionCall call{{hook, collective::ReductionKind::reduce_scatter, send, receive, 0, 0, 0, type, op}, {}};
  for (std::uint32_t rank = 0; counts && rank < group.ranks(); ++rank) {
    call.blocks.push_back({call.arguments.total, counts[rank]});
    call.arguments.total += counts[rank];
  }
  return call;
}
/// Of MPI_Reduce.
template <class Count>
ReductionCall reduction_call(const ReductionGroup&, Hook hook, const void* send, void* receive, Count count,
                             MPI_Datatype type, MPI_Op op, int root) {
  return {{hook, collective::ReductionKind::reduce, send, receive, count, 0, 0, type, op, root}, {}};
}

/// One call that waits for no other rank's call, or only in _init. Constructors of derived classes
/// decide whether it is Dunnage's.
class UnderWayReduction {
 public:
  static bool possible() { return ReductionOfAll::possible(); }
  UnderWayReduction(const UnderWayReduction&) = delete;
  UnderWayReduction& operator=(const UnderWayReduction&) = delete;
  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 protected:
  explicit UnderWayReduction(MPI_Comm comm) : comm_(comm), group_(ReductionGroup::of(comm)) {}
  ReductionGroup* group() const { return group_; }
  void begin(const ReductionCall& call, MPI_Request* request);
  void init(const ReductionCall& call, MPI_Request* request);

 private:
  const MPI_Comm comm_;
  ReductionGroup* const group_;
  std::optional<int> code_;
};

class NonblockingReduction : public UnderWayReduction {
 public:
  template <class... Data>
  NonblockingReduction(Hook hook, MPI_Comm comm, MPI_Request* request, Data... data) : UnderWayReduction(comm) {
    if (group()) begin(reduction_call(*group(), hook, data...), request);
  }
};

/// An _init call.
class PersistentReduction : public UnderWayReduction {
 public:
  template <class... Data>
  PersistentReduction(Hook hook, MPI_Comm comm, MPI_Info, MPI_Request* request, Data... data)
      : UnderWayReduction(comm) {
    if (group()) init(reduction_call(*group(), hook, data...), request);
  }
};

}  // namespace dunnage::mpi
