// The arguments of a receiving call.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// A receiving call, with all integers of the widest type. `comm` is whose error handler is called.
struct ReceiveCall {
  Hook hook;
  void* buffer;
  std::int64_t count;
  MPI_Datatype type;
  int source, tag;
  MPI_Comm comm;
  std::int64_t most;   // the largest value of the call's count type
  bool apart = false;  // channels do not matter: the message has been matched by a probe, or is Dunnage's own
};

}  // namespace dunnage::mpi
