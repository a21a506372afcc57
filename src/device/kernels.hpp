// The file with our kernels. It is built only if CUDA's compiler is found, so an installation may
// have none.
#pragma once

#include <string>

namespace dunnage::device {

/// The path of the file in `folder`, which ends in '/'.
std::string kernels_file(const std::string& folder);

/// Whether that file can be read. Thread-safe.
bool has_kernels(const std::string& folder);

/// What to tell a user if there is no such file. `dunnage info` and the report print it.
inline constexpr const char* without_kernels = "built without kernels: device memory is left to the MPI";

}  // namespace dunnage::device
