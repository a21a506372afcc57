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

/// Whether the program made the handler of this communicator.
inline bool handler_is_programs(MPI_Comm comm) {
  MPI_Errhandler handler;
  if (process->own.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  if (handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL) return false;
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return false;
#endif
  process->own.Errhandler_free(&handler);
  return true;
}

/// Calls the communicator's error handler for a message that was received or completed. Returns
/// what such a call of this MPI returns.
inline int raise_ended(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS) return code;
  const bool handled = process->behaviour.handled_is_success && handler_is_programs(comm);
  raise(comm, code);
  return handled ? MPI_SUCCESS : code;
}

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

/// Where a call that completes requests raises the error of a message whose own handler is `own`.
inline ErrorsOf errors_of_completion(const ErrorsOf& own, plan::Behaviour::Raises raises) {
  using Raises = plan::Behaviour::Raises;
  if (own.object != ErrorsOf::Object::comm || raises == Raises::on_its_own) return own;
  return errors_of_comm(raises == Raises::on_world ? MPI_COMM_WORLD : MPI_COMM_SELF);
}

/// Calls the error handler of a call that has completed one message. `in_array`: the call takes an
/// array of requests. Returns what the call returns.
inline int raise_completed(const ErrorsOf& errors, int code, bool in_array) {
  using Raises = plan::Behaviour::Raises;
  const auto raises = in_array ? process->behaviour.array_calls : process->behaviour.single_calls;
  if (errors.object == ErrorsOf::Object::comm && raises == Raises::on_its_own)
    return raise_ended(handle_of<MPI_Comm>(errors.key), code);
  return raise(errors_of_completion(errors, raises), code);
}

/// Calls the error handler of a call that has completed several messages, of which one failed with
/// `code`. Returns what the call returns.
inline int raise_in_status(const ErrorsOf& errors, int code) {
#if defined(OPEN_MPI)
  raise(errors, code);  // the handler is told of the first message that failed
#else
  (void)code;
  raise(errors_of_completion(errors, process->behaviour.array_calls), MPI_ERR_IN_STATUS);
#endif
  return MPI_ERR_IN_STATUS;
}

}  // namespace dunnage::mpi
