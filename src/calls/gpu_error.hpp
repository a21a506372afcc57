// A failure on a device as an MPI error.
#pragma once

#include "calls/context.hpp"
#include "device/driver.hpp"

namespace dunnage::calls {

/// Calls the communicator's error handler with a code whose text is that of the error; the code.
int raise(MPI_Comm comm, const device::Error& error);
/// The same with one of MPI's own codes.
int raise(MPI_Comm comm, int code);

}  // namespace dunnage::calls
