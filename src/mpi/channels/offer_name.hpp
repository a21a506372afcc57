// The name under which a rank offers a channel to another rank of its host, without a message
// (transport/shm/offers.hpp).
#pragma once

#include <cstdint>

#include "mpi/process/mpi_table.hpp"

namespace dunnage::mpi {

/// The name of the channel for messages with a tag on a communicator. `sender`, `receiver`: ranks
/// in MPI_COMM_WORLD. Both ranks get one name. Returns 0 if the lineage of the communicator is not
/// known.
std::uint64_t offer_name(MPI_Comm comm, std::uint32_t sender, std::uint32_t receiver, int tag);

}  // namespace dunnage::mpi
