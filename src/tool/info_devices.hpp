// The part of `dunnage info` about GPUs.
#pragma once

#include <filesystem>

#include "base/settings.hpp"

namespace dunnage::tool {

class Listing;

/// Prints the driver, the devices, and which devices reach each other. Loads the driver into this
/// process.
void print_devices(Listing& list, const base::Settings& settings, const std::filesystem::path& backends);

}  // namespace dunnage::tool
