// Physical memory, which virtual memory is mapped to: a file without a name, which other processes get by its descriptor.
#pragma once

#include <cstddef>
#include <memory>

#include <cuda.h>

#include "base/descriptor.hpp"

namespace dunnage::sim {

struct Physical {
  CUmemGenericAllocationHandle handle = 0;  // the same as long as it is mapped or a handle is held
  int references = 0;                       // handles that the program holds
  base::Descriptor file;
  std::size_t size = 0;
  CUmemAllocationProp properties{};
  bool imported = false;  // from another process, or from this one

  Physical() = default;
  ~Physical();
};

// What mappings and sizes are multiples of.
constexpr std::size_t granularity = 2 << 20;

// What a handle stands for. Throws where it is none.
std::shared_ptr<Physical> physical_of(CUmemGenericAllocationHandle handle);

}  // namespace dunnage::sim
