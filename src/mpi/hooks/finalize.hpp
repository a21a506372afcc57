// MPI_Finalize: the last moment at which we may speak to other ranks.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

int finalize(Hook, decltype(NextTable::MPI_Finalize) next);

}  // namespace dunnage::mpi
