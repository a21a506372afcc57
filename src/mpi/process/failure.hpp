// Failures of our own as MPI error codes.
#pragma once

#include <exception>

#include "device/driver.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

/// Returns a code whose text is that of the error. Calls no error handler. Thread-safe.
int code_of(const device::Error& error);
/// Calls the communicator's error handler with a code whose text is that of the error. Returns the
/// code.
int raise(MPI_Comm comm, const device::Error& error);

/// Returns the code of the exception that is being handled: for use in a catch block.
int code_of_current_exception();
/// Calls f(). Returns MPI_SUCCESS, or the code of what f() threw.
template <class F>
int guarded(F&& f) try {
  f();
  return MPI_SUCCESS;
} catch (const std::exception&) {
  return code_of_current_exception();
}

}  // namespace dunnage::mpi
