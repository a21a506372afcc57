// MPI_Buffer_attach and its kin with a buffer in device memory. An MPI that does not reach GPUs
// gets host memory in its place, until the program detaches the buffer.
#pragma once

#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

/// Host memory for the MPI, if it cannot use the program's buffer.
class AttachedBuffer {
 public:
  /// Thread-safe. Counts the call in the report.
  AttachedBuffer(Hook hook, void* buffer, MPI_Count size);
  /// What the MPI is to be given.
  void* for_mpi() const { return host_ ? host_.get() : buffer_; }
  /// An MPI error code: there is no host memory.
  int code() const { return code_; }
  /// The MPI has the buffer. Returns what the call is to return.
  int attached(int rc);
  /// The program's buffer in place of what the MPI gives back. Thread-safe.
  static void give_back(void** buffer);

 private:
  void* buffer_;
  std::unique_ptr<char[]> host_;
  int code_ = MPI_SUCCESS;
};

template <class Fn, class Count>
int attach_buffer(Hook hook, Fn next, void* buffer, Count size) {
  AttachedBuffer given(hook, buffer, size);
  return given.code() != MPI_SUCCESS ? raise(MPI_COMM_WORLD, given.code())
                                     : given.attached(next(given.for_mpi(), size));
}
template <class Fn, class Object, class Count>
int attach_buffer_to(Hook hook, Fn next, Object object, void* buffer, Count size) {
  return attach_buffer(
      hook, [&](void* given, Count bytes) { return next(object, given, bytes); }, buffer, size);
}

template <class Fn, class Count>
int detach_buffer(Hook, Fn next, void* buffer, Count* size) {
  const int rc = next(buffer, size);
  if (rc == MPI_SUCCESS) AttachedBuffer::give_back(static_cast<void**>(buffer));
  return rc;
}
template <class Fn, class Object, class Count>
int detach_buffer_of(Hook hook, Fn next, Object object, void* buffer, Count* size) {
  return detach_buffer(
      hook, [&](void* given, Count* bytes) { return next(object, given, bytes); }, buffer, size);
}

}  // namespace dunnage::mpi
