// Which job this process belongs to, as its launcher tells.
#pragma once

#include <cstdint>
#include <optional>

namespace dunnage::transport::shm {

/// A number that all processes of one MPI_COMM_WORLD on one host have in common, and no other processes of this user there;
/// nothing where the launcher leaves no trace.
std::optional<std::uint64_t> job();

}  // namespace dunnage::transport::shm
