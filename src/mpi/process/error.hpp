// Error handlers: whose is called, and the call.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// The communicator, window or file whose error handler is to be called. Some ABIs use one C type
/// for handles of different kinds, so the kind is kept beside the handle.
struct ErrorsOf {
  enum class Object { comm, win, file } object = Object::comm;
  std::uint64_t key = 0;
};
inline ErrorsOf errors_of_comm(MPI_Comm comm) { return {ErrorsOf::Object::comm, key_of(comm)}; }
inline ErrorsOf errors_of_win(MPI_Win win) { return {ErrorsOf::Object::win, key_of(win)}; }
inline ErrorsOf errors_of_file(MPI_File file) { return {ErrorsOf::Object::file, key_of(file)}; }

/// Calls the communicator's error handler. Returns the code.
inline int raise(MPI_Comm comm, int code) {
  process->own.Comm_call_errhandler(comm, code);
  return code;
}

/// Calls the communicator's error handler unless the code is MPI_SUCCESS. Returns the code.
inline int raise_failure(MPI_Comm comm, int code) { return code == MPI_SUCCESS ? code : raise(comm, code); }

/// Calls the object's error handler. Returns the code.
inline int raise(const ErrorsOf& errors, int code) {
  using Object = ErrorsOf::Object;
  if (errors.object == Object::win)
    process->own.Win_call_errhandler(handle_of<MPI_Win>(errors.key), code);
  else if (errors.object == Object::file && process->own.File_call_errhandler)
    process->own.File_call_errhandler(handle_of<MPI_File>(errors.key), code);
  else if (errors.object == Object::comm)
    process->own.Comm_call_errhandler(handle_of<MPI_Comm>(errors.key), code);
  return code;
}

}  // namespace dunnage::mpi
