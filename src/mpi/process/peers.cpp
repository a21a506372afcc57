#include "mpi/process/peers.hpp"

#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {

plan::Peers find_peers(int rank, MPI_Comm comm) {
  auto* world = process->world.get();
  const auto there = world ? world_rank(comm, rank) : -1;
  return there < 0 || world->peers.near(static_cast<std::uint32_t>(there)) ? plan::Peers::same_host
                                                                           : plan::Peers::other_host;
}

}  // namespace dunnage::mpi
