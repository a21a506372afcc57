// The memory that a copy reads or writes.
#pragma once

#include <cstddef>

#include "device/cuda_driver_api.h"
#include "sim/memory.hpp"

namespace dunnage::sim {

enum class Where { device, pinned, pageable };  // managed memory counts as device memory

struct Place {
  char* bytes;  // the address that the simulator itself uses
  Where where;
  std::uint64_t devices = every_device;  // which devices reach the memory, one bit for each
};

enum class Must { exist, be_known };

// Throws if the bytes are not all in one allocation or in adjacent mappings. Throws also if the
// driver must know the memory and does not.
Place place_of(CUdeviceptr address, std::size_t bytes, Must must);

}  // namespace dunnage::sim
