// Makes an exchange of what the ranks have agreed on.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// Fills in `draft.made`: moves, signals, slots and tables of the messages that go directly. Throws
/// device::Error.
void assemble(Draft& draft);

}  // namespace dunnage::mpi
