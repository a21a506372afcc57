// On which host the other side of a message is.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

plan::Peers find_peers(int rank, MPI_Comm comm);

/// Whether messages with a rank of `comm` leave this host, as far as is known: a rank without
/// Dunnage counts as far away where the job has several hosts, and MPI_ANY_SOURCE as near.
inline plan::Peers peers_of(int rank, MPI_Comm comm) {
  return process->several_hosts && rank >= 0 ? find_peers(rank, comm) : plan::Peers::same_host;
}

/// Whether messages with that rank that do not go directly are left to an MPI that reaches GPUs.
/// Within a host our own ways are at least as fast for those, and much faster where the MPI takes
/// long for small ones; between hosts the MPI may know a better way than the host's memory.
inline bool passes_to(int rank, MPI_Comm comm) {
  return process->passes_gpus() && (process->settings.gpu_path == base::GpuPath::pass || !process->world ||
                                    peers_of(rank, comm) == plan::Peers::other_host);
}

}  // namespace dunnage::mpi
