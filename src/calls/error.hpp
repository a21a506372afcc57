// Errors of our own.
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

/// Calls the communicator's error handler, and returns the code.
inline int raise(MPI_Comm comm, int code) {
  context->own.Comm_call_errhandler(comm, code);
  return code;
}

}  // namespace dunnage::calls
