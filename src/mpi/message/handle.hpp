// Requests of the MPI behind which no operation of the MPI stands. A program gets such a handle for
// an operation that consists of several messages.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// A generalized request (MPI 4.1, section 14.2). The MPI takes it for an operation under way until
/// end_handle(). Returns an MPI error code. Thread-safe.
int new_handle(MPI_Request* handle);
/// The operation behind a handle of new_handle() has ended. To be called once.
void end_handle(MPI_Request handle);
/// The status of an operation that has received nothing. MPI 4.1 defines no other for collective
/// operations.
void set_empty(MPI_Status& status);
/// An inactive persistent request, which a program may start, complete and free. Returns an MPI
/// error code. Thread-safe.
int new_persistent_handle(MPI_Request* handle);

}  // namespace dunnage::mpi
