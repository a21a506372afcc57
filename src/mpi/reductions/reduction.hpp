// MPI_Allreduce, MPI_Reduce, MPI_Reduce_scatter, MPI_Reduce_scatter_block, MPI_Scan and MPI_Exscan
// on device memory by kernels that read the data of all ranks.
#pragma once

#include "mpi/reductions/together.hpp"

namespace dunnage::mpi {

/// The kind of a call whose arguments do not tell it: of all but MPI_Reduce and MPI_Reduce_scatter.
/// MPI_Allreduce for all other calls.
collective::ReductionKind reduction_kind_of(Hook hook);
/// Whether a buffer of this rank, with number `rank`, is in memory that the host must not touch.
bool uses_device(const ReductionArguments& arguments, std::uint32_t rank);

/// One blocking call. The constructor decides whether the call is Dunnage's, and does it then.
class ReductionOfAll {
 public:
  /// Whether any may be ours. Nothing that may differ between ranks is asked.
  static bool possible() {
    const auto how = process->settings.collectives;
    return how != base::Collectives::off && (how == base::Collectives::on || process->everyone || process->alone) &&
           process->initialized.load(std::memory_order_relaxed);
  }

  /// All but MPI_Reduce and MPI_Reduce_scatter. `Count`: int or MPI_Count.
  template <class Count>
  ReductionOfAll(Hook hook, MPI_Comm comm, const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op) {
    auto* group = ReductionGroup::of(comm);
    if (!group || count <= 0) return;
    ReductionArguments arguments{hook, reduction_kind_of(hook), send, receive, count, 0, 0, type, op};
    if (arguments.kind == collective::ReductionKind::reduce_scatter) {
      arguments.begin = std::int64_t{count} * group->rank();
      arguments.count = count;
      arguments.total = std::int64_t{count} * group->ranks();
    }
    run(*group, arguments, comm);
  }
  /// MPI_Reduce_scatter.
  template <class Count>
  ReductionOfAll(Hook hook, MPI_Comm comm, const void* send, void* receive, const Count* counts, MPI_Datatype type,
                 MPI_Op op) {
    auto* group = ReductionGroup::of(comm);
    if (!group || !counts) return;
    ReductionArguments arguments{hook, collective::ReductionKind::reduce_scatter, send, receive, 0, 0, 0, type, op};
    for (std::uint32_t rank = 0; rank < group->ranks(); ++rank) {
      if (counts[rank] < 0) return;
      if (rank == group->rank()) arguments.begin = arguments.total, arguments.count = counts[rank];
      arguments.total += counts[rank];
    }
    run(*group, arguments, comm);
  }
  /// MPI_Reduce.
  template <class Count>
  ReductionOfAll(Hook hook, MPI_Comm comm, const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op,
                 int root) {
    auto* group = ReductionGroup::of(comm);
    if (!group || count <= 0 || root < 0 || static_cast<std::uint32_t>(root) >= group->ranks()) return;
    run(*group, {hook, collective::ReductionKind::reduce, send, receive, count, 0, 0, type, op, root}, comm);
  }
  ReductionOfAll(const ReductionOfAll&) = delete;
  ReductionOfAll& operator=(const ReductionOfAll&) = delete;

  /// Whether it has been done, and its result.
  bool done() const { return code_.has_value(); }
  int code() const { return *code_; }

 private:
  void run(ReductionGroup& group, const ReductionArguments& arguments, MPI_Comm comm);

  std::optional<int> code_;
};

}  // namespace dunnage::mpi
