// The operations on windows that are measured, and the message beside them.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "windows/buffer.hpp"

namespace bench::windows {

/// What each rank has. The origin is rank 0. The target is the last rank: with one rank, the origin
/// itself.
struct Side {
  int rank, target;
  Buffer& local;    // the origin's buffer of operations
  Buffer& exposed;  // the memory of the window
  MPI_Win window;
  bool is_origin() const { return rank == 0; }
  bool is_target() const { return rank == target; }
};

/// What a buffer holds after a call, if it was filled before.
enum class Becomes { itself, the_origins, the_targets, sum };

/// `call` is one operation with its epoch. Every rank calls it.
struct Operation {
  std::string name;
  bool strided;
  std::function<void(const Side&)> call;
  Becomes local, exposed;
};

std::vector<Operation> operations();

}  // namespace bench::windows
