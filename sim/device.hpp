#pragma once

#include "sim/driver.hpp"

namespace dunnage::sim {

constexpr int most_shared_bytes = 227 << 10;  // the most shared memory of one block

Device& device_of(CUdevice device);

}  // namespace dunnage::sim
