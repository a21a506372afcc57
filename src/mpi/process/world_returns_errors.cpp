#include "mpi/process/world_returns_errors.hpp"

#include <mutex>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {
namespace {

#if defined(OPEN_MPI)
constexpr bool needed = false;
#else
constexpr bool needed = true;
#endif

std::mutex handler_mutex;
int alive = 0;
MPI_Errhandler programs;  // the program's, while `alive` is not 0

}  // namespace

WorldReturnsErrors::WorldReturnsErrors() {
  if (!needed) return;
  const std::lock_guard lock(handler_mutex);
  if (alive++ != 0) return;
  process->own.Comm_get_errhandler(MPI_COMM_WORLD, &programs);
  process->own.Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

WorldReturnsErrors::~WorldReturnsErrors() {
  if (!needed) return;
  const std::lock_guard lock(handler_mutex);
  if (--alive != 0) return;
  process->own.Comm_set_errhandler(MPI_COMM_WORLD, programs);
  process->own.Errhandler_free(&programs);
}

}  // namespace dunnage::mpi
