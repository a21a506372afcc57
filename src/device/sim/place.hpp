// What a copy reads or writes.
#pragma once

#include <cstddef>

#include <cuda.h>

namespace dunnage::sim {

enum class Where { device, pinned, pageable };  // managed memory counts as the device's

struct Place {
  char* bytes;  // for the simulator
  Where where;
  int pool = -1;  // of memory of a pool: its device
};

enum class Must { exist, be_known };

// Throws where the bytes do not lie in one allocation, or where the driver must know the memory and does not.
Place place_of(CUdeviceptr address, std::size_t bytes, Must must);

}  // namespace dunnage::sim
