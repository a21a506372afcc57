// The memory allocation kinds of MPI 4.1 (section 12.4.3), and those that the side document "Memory
// Allocation Kinds" defines for CUDA.
#pragma once

#include <string>
#include <string_view>

namespace dunnage::plan {

/// What an MPI supports that names no kinds.
inline constexpr std::string_view default_memory_kinds = "mpi,system";

/// A list of kinds with all kinds of CUDA's memory behind it. Kinds that the list has are not added
/// again.
std::string with_cuda_kinds(std::string_view kinds);

}  // namespace dunnage::plan
