#include "device/kernels.hpp"

#include <unistd.h>

namespace dunnage::device {

std::string kernels_file(const std::string& folder) { return folder + "dunnage-kernels.fatbin"; }

bool has_kernels(const std::string& folder) { return access(kernels_file(folder).c_str(), R_OK) == 0; }

}  // namespace dunnage::device
