// What `dunnage info` says of GPUs.
#pragma once

#include <filesystem>

#include "base/settings.hpp"

namespace dunnage::tool {

/// Prints the driver, the devices, and which of them reach each other. Loads the driver: for this tool's process only.
void print_devices(base::Device setting, const std::filesystem::path& backends);

}  // namespace dunnage::tool
