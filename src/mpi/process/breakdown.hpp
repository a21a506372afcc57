// What the report tells by size, by peer and by call site. These counters exist only if a report is
// wanted.
#pragma once

#include "mpi/process/call_sites.hpp"
#include "mpi/process/hook.hpp"
#include "plan/portion.hpp"

namespace dunnage::mpi {

/// Thread-safe. Nothing is allocated after construction.
struct Breakdown {
  /// Calls by hook and by the class of their size.
  std::array<std::array<plan::Portion, plan::size_classes>, hook_count> sizes{};
  /// Sends by their receiver, a rank of MPI_COMM_WORLD.
  plan::PortionsByRank<256> sends;
  CallSites sites;

  plan::Portion& by_size(Hook hook, std::uint64_t bytes) {
    return sizes[static_cast<std::size_t>(hook)][plan::size_class(bytes)];
  }
  /// Those of the call that this thread is in; null if its site is not known.
  CallSite* by_site(Hook hook) { return sites.of(call_site, hook); }
};

}  // namespace dunnage::mpi
