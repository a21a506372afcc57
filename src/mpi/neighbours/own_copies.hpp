// What an exchange of host memory brings from this rank to itself.
#pragma once

#include "mpi/lines/edge_buffers.hpp"

namespace dunnage::mpi {

/// Copies each buffer of `from` to that of `to` with its number. Returns the first MPI error code.
int copy_own(const EdgeBuffers& from, const EdgeBuffers& to);

}  // namespace dunnage::mpi
