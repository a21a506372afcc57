// The arguments of a call that sends.
#pragma once

#include <cstdint>

#include "mpi/message/accept.hpp"
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

/// How a call sends, whether or not it is blocking.
enum class Mode { standard, synchronous, buffered };

constexpr Mode mode_of(Hook hook) {
  switch (hook) {
    case Hook::MPI_Ssend:
    case Hook::MPI_Ssend_c:
    case Hook::MPI_Issend:
    case Hook::MPI_Issend_c:
    case Hook::MPI_Ssend_init:
    case Hook::MPI_Ssend_init_c: return Mode::synchronous;
    default: return operation_of(hook) == plan::Operation::buffered_send ? Mode::buffered : Mode::standard;
  }
}

}  // namespace dunnage::mpi
