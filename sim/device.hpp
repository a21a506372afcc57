// The simulated devices.
#pragma once

#include "device/cuda_driver_api.h"
#include "sim/driver.hpp"

namespace dunnage::sim {

constexpr int most_shared_bytes = 227 << 10;  // the most shared memory of one block

Device& device_of(CUdevice device);  // throws if there is no such device

// The values of an H200, as far as programs decide by them. 0 for features that the simulator
// lacks.
int attribute_of(CUdevice device, CUdevice_attribute attribute);

}  // namespace dunnage::sim
