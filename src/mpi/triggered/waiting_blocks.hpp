// How many blocks of threads may wait for other ranks. A wait by the blocks that move the data
// saves a kernel in front of them. But a block that waits takes room from kernels that compute.
#pragma once

#include "memory/budget.hpp"
#include "mpi/triggered/draft.hpp"

namespace dunnage::mpi {

/// The blocks of `moves`, if all of them may wait at a time, with those of other exchanges of this
/// process. Else nothing: then one block waits in front of them. The context must be current.
memory::Budget::Part take_waiting_blocks(const device::Driver& driver, const pack::gpu::Prepared& moves,
                                         const TriggerMeans& means);

}  // namespace dunnage::mpi
