// MPI_Finalize: the last moment at which we may speak to other ranks.
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

int finalize(Hook, decltype(NextTable::MPI_Finalize) next);

}  // namespace dunnage::calls
