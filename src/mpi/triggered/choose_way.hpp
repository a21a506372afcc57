// By what streams wait in an exchange: by kernels or by memory operations.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// What the current context's GPU can do. Loads the kernels that wait. Throws device::Error.
TriggerMeans means_of(const device::Driver& driver, device::Gpu& gpu, const SlotBlock& slots);

/// Chooses by what this rank's streams wait, and the reason. The first choice on a GPU may measure
/// for about a millisecond. Throws device::Error.
void choose_way(Draft& draft);

}  // namespace dunnage::mpi
