#include "mpi/reductions/reduction.hpp"

#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

collective::ReductionKind reduction_kind_of(Hook hook) {
  using collective::ReductionKind;
  switch (hook) {
    case Hook::MPI_Reduce_scatter_block:
    case Hook::MPI_Reduce_scatter_block_c:
    case Hook::MPI_Ireduce_scatter_block:
    case Hook::MPI_Ireduce_scatter_block_c:
    case Hook::MPI_Reduce_scatter_block_init:
    case Hook::MPI_Reduce_scatter_block_init_c: return ReductionKind::reduce_scatter;
    case Hook::MPI_Scan:
    case Hook::MPI_Scan_c:
    case Hook::MPI_Iscan:
    case Hook::MPI_Iscan_c:
    case Hook::MPI_Scan_init:
    case Hook::MPI_Scan_init_c: return ReductionKind::scan;
    case Hook::MPI_Exscan:
    case Hook::MPI_Exscan_c:
    case Hook::MPI_Iexscan:
    case Hook::MPI_Iexscan_c:
    case Hook::MPI_Exscan_init:
    case Hook::MPI_Exscan_init_c: return ReductionKind::exscan;
    default: return ReductionKind::allreduce;
  }
}

bool uses_device(const ReductionArguments& arguments, std::uint32_t rank) {
  const bool has_result =
      arguments.kind != collective::ReductionKind::reduce || static_cast<std::uint32_t>(arguments.root) == rank;
  return (!arguments.in_place() && on_device(arguments.send)) || (has_result && on_device(arguments.receive));
}

void ReductionOfAll::run(ReductionGroup& group, const ReductionArguments& arguments, MPI_Comm comm) {
  const auto on_device = [&] { return uses_device(arguments, group.rank()); };
  if (!group.is_ours(comm, arguments.kind, arguments.total, on_device)) return;
  const auto code = group.hosts() ? reduce_together(*group.hosts(), arguments) : reduce_together(group, arguments);
  if (code) code_ = raise_failure(comm, *code);
}

}  // namespace dunnage::mpi
