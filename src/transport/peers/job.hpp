// Which job this process belongs to. The launcher tells.
#pragma once

#include <cstdint>
#include <optional>

namespace dunnage::transport::peers {

/// A number that all processes of one MPI_COMM_WORLD on one host have in common, and no other
/// processes of this user there. Returns nothing if the launcher leaves no trace.
std::optional<std::uint64_t> job();

/// A number that all processes of an MPI_COMM_WORLD of so many ranks have in common, on all hosts.
/// Returns 0 if the launcher leaves no trace.
std::uint64_t world_key(std::uint32_t ranks);

/// A number that two processes have in common if they can reach each other's memory by their
/// process numbers. They are then on one host, and in one process namespace there.
std::uint64_t host_key();

/// A number that all processes on this kernel have in common, and no others. Returns 0 if the
/// kernel does not tell.
std::uint64_t machine_key();

/// The rank of this process in MPI_COMM_WORLD, and how many ranks there are, as the launcher says
/// before MPI_Init. Returns nothing if it does not tell both.
struct RankTold {
  std::uint32_t rank, ranks;
};
std::optional<RankTold> rank_told();

/// How many ranks MPI_COMM_WORLD has, as far as that is told before MPI_Init. `srun --mpi=pmix`
/// tells it, but not in the way of rank_told().
std::optional<std::uint32_t> ranks_told();

/// How many of the `ranks` ranks of MPI_COMM_WORLD are on this host. Returns nothing if the
/// launcher does not tell.
std::optional<std::uint32_t> ranks_on_host(std::uint32_t ranks);

/// Whether all ranks of MPI_COMM_WORLD are on this host. Returns false if the launcher does not
/// tell.
bool alone_on_host(std::uint32_t ranks);

}  // namespace dunnage::transport::peers
