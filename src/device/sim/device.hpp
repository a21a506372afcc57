#pragma once

#include "device/sim/driver.hpp"

namespace dunnage::sim {

constexpr int most_shared_bytes = 227 << 10;  // of one block

Device& device_of(CUdevice device);

}  // namespace dunnage::sim
