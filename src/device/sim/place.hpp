// What a copy reads or writes.
#pragma once

#include <cstddef>

#include <cuda.h>

#include "device/sim/memory.hpp"

namespace dunnage::sim {

enum class Where { device, pinned, pageable };  // managed memory counts as the device's

struct Place {
  char* bytes;  // for the simulator
  Where where;
  std::uint64_t devices = every_device;  // that reach it, a bit for each
};

enum class Must { exist, be_known };

// Throws where the bytes do not lie in one allocation, or in mappings without a gap, or where the driver must know the memory and does not.
Place place_of(CUdeviceptr address, std::size_t bytes, Must must);

}  // namespace dunnage::sim
