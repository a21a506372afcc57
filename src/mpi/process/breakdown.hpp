// What the report tells by size and by peer. These counters exist only if a report is wanted.
#pragma once

#include "mpi/process/hook.hpp"
#include "plan/portion.hpp"

namespace dunnage::mpi {

/// Thread-safe. Nothing is allocated after construction.
struct Breakdown {
  /// Calls by hook and by the class of their size.
  std::array<std::array<plan::Portion, plan::size_classes>, hook_count> sizes{};
  /// Sends by their receiver, a rank of MPI_COMM_WORLD.
  plan::PortionsByRank<256> sends;

  plan::Portion& by_size(Hook hook, std::uint64_t bytes) {
    return sizes[static_cast<std::size_t>(hook)][plan::size_class(bytes)];
  }
};

}  // namespace dunnage::mpi
