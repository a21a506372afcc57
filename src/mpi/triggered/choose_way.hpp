// By what streams wait in an exchange: by kernels or by memory operations.
#pragma once

#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// What the current context's GPU can do. Loads the kernels that wait. Throws device::Error.
TriggerMeans means_of(const device::Driver& driver, device::Gpu& gpu, const SlotBlock& slots);

/// Chooses the way of the messages that go directly, and the reason. The first choice on a GPU may
/// measure for about a millisecond.
void choose_way(const device::Driver& driver, device::Gpu& gpu, Draft& draft);

}  // namespace dunnage::mpi
