// Errors of messages of our own must not reach the program's error handlers as they come.
#pragma once

namespace dunnage::mpi {

/// While one lives, MPI_COMM_WORLD returns errors. MPICH raises errors of completing calls there,
/// whatever communicator the request belongs to, and the default handler ends the program. With
/// Open MPI it does nothing. Thread-safe: objects of several threads share one change of handlers.
class WorldReturnsErrors {
 public:
  WorldReturnsErrors();
  WorldReturnsErrors(const WorldReturnsErrors&) = delete;
  WorldReturnsErrors& operator=(const WorldReturnsErrors&) = delete;
  ~WorldReturnsErrors();
};

}  // namespace dunnage::mpi
