// Which messages of an exchange go directly, and which the proxy does, as one rank of a pair sees
// it.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// Finds out whether this rank can have the messages with a peer directly, from what the peer has
/// told (`side.in`). If not, `side.objection` says why. Throws device::Error if the peer's memory
/// cannot be mapped.
void judge(Draft& draft, int rank, MatchSide& side);

/// If the messages with a peer do not go directly: finds out whether the proxy can do them. If not,
/// `side.proxy_objection` says why. Takes page-locked memory and makes requests. Throws
/// device::Error if one of these cannot be had.
void judge_proxied(const Draft& draft, int rank, MatchSide& side);

/// Plans the messages of this rank to itself. Returns false if they are for the MPI.
bool judge_own(Draft& draft);

}  // namespace dunnage::mpi
