// Copies to device memory, of what an exchange keeps there.
#pragma once

#include "device/gpu.hpp"

namespace dunnage::mpi {

/// Copies host memory to the device, and waits for the copy. Throws device::Error.
void upload(const device::Driver& driver, device::Gpu& gpu, CUdeviceptr to, const void* from, std::size_t size);

}  // namespace dunnage::mpi
