// NCCL's way of the operations that are measured, for comparison.
#pragma once

#include <functional>
#include <string>

#include "collectives/blocks.hpp"
#include "collectives/reductions.hpp"
#include "cuda_aware/gpu.hpp"
#include "cuda_aware/nccl_comm.hpp"

namespace bench::collectives {

/// NCCL's communicator of all ranks, and the stream that its work goes into.
struct Nccl {
  const NcclComm& comm;
  const Stream& stream;
  int rank, ranks;
};

/// A call of NCCL that does what the operation of that name does, and waits for it. Empty if NCCL
/// has none: it knows no datatypes with gaps, and no scans.
std::function<void(Blocks& from, Blocks& to)> by_nccl(const Nccl& nccl, const std::string& operation);
std::function<void(double* from, double* to, int count)> sum_by_nccl(const Nccl& nccl, const std::string& reduction);

}  // namespace bench::collectives
