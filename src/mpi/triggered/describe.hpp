// What this rank tells a peer of its part of an exchange.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// Fills in `opening_out`, `sends_out` and `receives_out` of a side. Plans copies of data that
/// others cannot read in place. Throws device::Error.
void describe_to(const device::Driver& driver, Draft& draft, int rank, MatchSide& side);

}  // namespace dunnage::mpi
