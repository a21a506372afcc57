// Which job this process belongs to, as its launcher tells.
#pragma once

#include <cstdint>
#include <optional>

namespace dunnage::transport::shm {

/// A number that all processes of one MPI_COMM_WORLD on one host have in common, and no other processes of this user there;
/// nothing where the launcher leaves no trace.
std::optional<std::uint64_t> job();

/// A number that all processes of one MPI_COMM_WORLD on all hosts have in common; 0 where the launcher leaves no trace.
std::uint64_t world_key();

/// A number that processes have in common which can reach each other's memory by their process numbers: those of one host and of one space of such numbers there.
std::uint64_t host_key();

/// Whether all ranks of MPI_COMM_WORLD are on this host, as far as the launcher tells.
bool alone_on_host(std::uint32_t ranks);

}  // namespace dunnage::transport::shm
