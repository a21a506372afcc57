#include "mpi/neighbours/exchange.hpp"

#include "mpi/neighbours/messages.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// All ranks of the communicator call it at a time. Returns whether its collectives are Dunnage's
/// from now on. `uses_gpu`: of this rank.
bool agree(Neighbourhood& hood, MPI_Comm comm, bool uses_gpu) {
  const int here = uses_gpu;
  int somewhere = 0;
  return process->own.Allreduce(&here, &somewhere, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && somewhere &&
         make_message_comm(hood, comm);
}

}  // namespace

bool NeighbourCall::asked(const Edges& edges) {
  return agree(*hood(), comm(), gpu_use().seen.load(std::memory_order_acquire) || in_device_memory(edges));
}

void see_topology(MPI_Comm comm) {
  auto* hood = neighbourhood(comm);
  if (hood && hood->possible) agree(*hood, comm, device::driver() != nullptr);
}

}  // namespace dunnage::mpi
