// Waiting for other ranks of this host in an exchange through shared memory.
#pragma once

#include "mpi/message/device_landing.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

/// Calls test() until it returns true, and lets the MPI and receives go on in between. Returns
/// false if forsaken(), which asks the kernel, says that a rank is gone.
template <class Test, class Forsaken>
bool wait_patiently(Test&& test, Forsaken&& forsaken) {
  // If there are enough cores, this rank keeps its core for some milliseconds, as ranks do that
  // wait in an MPI: a core that is given up comes back after a time slice if other programs run.
  constexpr int spins = 50000;
  transport::shm::Patience patience(spins);
  for (int round = 1; !test(); ++round, patience.wait()) {
    if (round % polls_between == 0) {
      let_mpi_progress();
      progress_receives();
    }
    // A rank may have done all that this one waits for, and then have ended.
    if (patience.doubts() && forsaken() && !test()) return false;
  }
  return true;
}

/// Whether the process of a rank of this host has ended.
inline bool has_ended(std::uint32_t rank) {
  const auto* memory = process->world->peers.memory(rank);
  return !memory || !memory->alive();
}

}  // namespace dunnage::mpi
