// The work of a kernel's launch.
#pragma once

#include <functional>

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

struct Call;

// Checks a launch as the driver does, and copies its parameters. What is returned runs the kernel.
std::function<void()> work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS& params);

}  // namespace dunnage::sim
