// The arguments of a call that sends.
#pragma once

#include <cstdint>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// A sending call, with all integers of the widest type.
struct SendCall {
  Hook hook;
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
  int dest, tag;
  MPI_Comm comm;
  std::int64_t most;   // the largest value of the call's count type
  bool apart = false;  // channels do not matter: the message is Dunnage's own
};

}  // namespace dunnage::mpi
