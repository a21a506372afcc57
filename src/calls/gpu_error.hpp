// A failure on a device as an MPI error.
#pragma once

#include "calls/error.hpp"
#include "device/driver.hpp"

namespace dunnage::calls {

/// A code whose text is that of the error.
int code_of(const device::Error& error);
/// Calls the communicator's error handler with a code whose text is that of the error; the code.
int raise(MPI_Comm comm, const device::Error& error);

}  // namespace dunnage::calls
