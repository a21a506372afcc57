// The start and the end of contexts, with everything that a context owns.
#pragma once

#include <memory>
#include <mutex>

#include "device/cuda_driver_api.h"
#include "sim/context.hpp"

namespace dunnage::sim {

// Creates a context that is not the device's primary context.
std::shared_ptr<Context> create_context(CUdevice device, unsigned flags);

// Returns the device's primary context, and activates the context if necessary.
std::shared_ptr<Context> activate_primary(CUdevice device);

// Waits for the context's work, then frees everything that the context owns.
void destroy(const std::shared_ptr<Context>& context, std::unique_lock<std::mutex>& lock);

}  // namespace dunnage::sim
