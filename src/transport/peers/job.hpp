// Which job this process belongs to. The launcher tells.
#pragma once

#include <cstdint>
#include <optional>

namespace dunnage::transport::peers {

/// A number that all processes of one MPI_COMM_WORLD on one host have in common, and no other
/// processes of this user there. Returns nothing if the launcher leaves no trace.
std::optional<std::uint64_t> job();

/// A number that all processes of one MPI_COMM_WORLD on all hosts have in common. Returns 0 if the
/// launcher leaves no trace.
std::uint64_t world_key();

/// A number that two processes have in common if they can reach each other's memory by their
/// process numbers. They are then on one host, and in one process namespace there.
std::uint64_t host_key();

/// Whether all ranks of MPI_COMM_WORLD are on this host. Returns false if the launcher does not
/// tell.
bool alone_on_host(std::uint32_t ranks);

}  // namespace dunnage::transport::peers
