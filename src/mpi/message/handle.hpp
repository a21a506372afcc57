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

/// A handle that stands for an operation by a channel. If the MPI is never asked about it, it
/// stands for another operation afterwards. Not thread-safe: channels need calls that come one at a
/// time.
class KeptHandle {
 public:
  KeptHandle() = default;
  KeptHandle(const KeptHandle&) = delete;
  KeptHandle& operator=(const KeptHandle&) = delete;
  ~KeptHandle();
  /// Takes one that is free, or has the MPI make one. Returns an MPI error code.
  int take();
  MPI_Request get() const { return handle_; }
  /// Whether there is one of which the MPI has not been told.
  explicit operator bool() const { return handle_ != MPI_REQUEST_NULL; }
  /// The operation has ended, and the MPI is about to be asked, which then frees the handle.
  void end();
  /// Before the MPI ends: gives it back the handles that are free.
  static void end_all();

 private:
  MPI_Request handle_ = MPI_REQUEST_NULL;
};

/// The status of an operation that has received nothing. MPI 4.1 defines no other for collective
/// operations.
void set_empty(MPI_Status& status);
/// An inactive persistent request, which a program may start, complete and free. Returns an MPI
/// error code. Thread-safe.
int new_persistent_handle(MPI_Request* handle);

}  // namespace dunnage::mpi
