// On which host the other side of a message is.
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

plan::Peers find_peers(int rank, MPI_Comm comm);

/// Whether messages with a rank of `comm` leave this host, as far as is known: a rank without Dunnage counts as far away where the
/// job has several hosts, and MPI_ANY_SOURCE as near.
inline plan::Peers peers_of(int rank, MPI_Comm comm) {
  return context->several_hosts && rank >= 0 ? find_peers(rank, comm) : plan::Peers::same_host;
}

}  // namespace dunnage::calls
