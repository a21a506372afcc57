#include "calls/peers.hpp"

#include "calls/communicators.hpp"

namespace dunnage::calls {

plan::Peers find_peers(int rank, MPI_Comm comm) {
  auto* world = context->world.get();
  const auto there = world ? world_rank(comm, rank) : -1;
  return there < 0 || world->near(static_cast<std::uint32_t>(there)) ? plan::Peers::same_host : plan::Peers::other_host;
}

}  // namespace dunnage::calls
