#include "mpi/reductions/reduction.hpp"

#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

collective::ReductionKind ReductionOfAll::kind_of(Hook hook) {
  using collective::ReductionKind;
  switch (hook) {
    case Hook::MPI_Reduce_scatter_block:
    case Hook::MPI_Reduce_scatter_block_c: return ReductionKind::reduce_scatter;
    case Hook::MPI_Scan:
    case Hook::MPI_Scan_c: return ReductionKind::scan;
    case Hook::MPI_Exscan:
    case Hook::MPI_Exscan_c: return ReductionKind::exscan;
    default: return ReductionKind::allreduce;
  }
}

void ReductionOfAll::run(ReductionGroup& group, const ReductionArguments& arguments, MPI_Comm comm) {
  const auto uses_device = [&] {
    const bool has_result = arguments.kind != collective::ReductionKind::reduce ||
                            static_cast<std::uint32_t>(arguments.root) == group.rank();
    return (!arguments.in_place() && on_device(arguments.send)) || (has_result && on_device(arguments.receive));
  };
  if (!group.is_ours(comm, arguments.kind, arguments.total, uses_device)) return;
  if (const auto code = reduce_together(group, arguments)) code_ = raise_failure(comm, *code);
}

}  // namespace dunnage::mpi
