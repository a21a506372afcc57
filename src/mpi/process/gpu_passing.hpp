// Memory of GPUs that goes to other processes as a descriptor, before any message names it.
#pragma once

#include <optional>

#include "device/ipc.hpp"
#include "transport/peers/world.hpp"

namespace dunnage::mpi {

/// How the other processes are told which memory that is.
transport::peers::Allocation passed_as(const device::Exported& mapping);
/// Whether a rank holds a mapping of this process, which must be of device::mapping_of(); makes it
/// so for later messages where it can.
transport::peers::Hold holds(std::uint32_t rank, const device::Driver& driver, const device::Exported& mapping);

/// Takes what another has passed, and maps it into the context for such a place, where it is kept
/// until something else comes to `at`. False where it cannot be read.
bool take_passed(const device::Driver& driver, const device::Place& place, std::uint32_t rank, std::uint32_t at,
                 const transport::peers::DescriptorSocket::Message& message);

}  // namespace dunnage::mpi
