// Errors of our own.
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

/// Calls the communicator's error handler, and returns the code.
inline int raise(MPI_Comm comm, int code) {
  context->own.Comm_call_errhandler(comm, code);
  return code;
}

/// Whose error handler is to be called. Handles of different kinds are of one type in some ABIs.
struct ErrorsOf {
  engine::Operation::Object object;
  std::uint64_t key;
};
inline ErrorsOf errors_of_comm(MPI_Comm comm) { return {engine::Operation::Object::comm, key_of(comm)}; }
inline ErrorsOf errors_of_win(MPI_Win win) { return {engine::Operation::Object::win, key_of(win)}; }
inline ErrorsOf errors_of_file(MPI_File file) { return {engine::Operation::Object::file, key_of(file)}; }
inline ErrorsOf errors_of(const engine::Operation& operation) {
  return operation.copies && operation.copies->orphaned() ? errors_of_comm(MPI_COMM_WORLD) : ErrorsOf{operation.object, operation.comm};
}

inline int raise(const ErrorsOf& errors, int code) {
  using Object = engine::Operation::Object;
  if (errors.object == Object::win)
    context->own.Win_call_errhandler(handle_of<MPI_Win>(errors.key), code);
  else if (errors.object == Object::file && context->own.File_call_errhandler)
    context->own.File_call_errhandler(handle_of<MPI_File>(errors.key), code);
  else if (errors.object == Object::comm)
    context->own.Comm_call_errhandler(handle_of<MPI_Comm>(errors.key), code);
  return code;
}

}  // namespace dunnage::calls
