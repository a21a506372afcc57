// Sends that no call of the program waits for. MPI_Finalize does.
#pragma once

#include "mpi/message/stage.hpp"
#include "mpi/ways/send_call.hpp"

namespace dunnage::mpi {

/// Sends packed bytes to a rank of the private communicator. Returns an MPI error code.
/// Thread-safe.
int send_in_background(memory::Parcel parcel, int dest, int tag);
/// Sends a packed copy of the data, which the program may change at once. Returns false if there is
/// no memory for a copy; then nothing is sent. `code`: an MPI error code. Thread-safe.
bool send_copy(const SendCall& call, int& code);

}  // namespace dunnage::mpi
