// Physical memory for virtual addresses. It is a file without a path; other processes get its file
// descriptor.
#pragma once

#include <cstddef>
#include <memory>

#include "base/descriptor.hpp"
#include "device/cuda_driver_api.h"

namespace dunnage::sim {

struct Physical {
  CUmemGenericAllocationHandle handle = 0;  // does not change while the memory is mapped or a handle is held
  int references = 0;                       // how many handles the program holds
  base::Descriptor file;
  std::size_t size = 0;
  CUmemAllocationProp properties{};
  bool imported = false;  // came as a file descriptor, from another process or from this one

  Physical() = default;
  ~Physical();
};

// Addresses and sizes of mappings are multiples of this number of bytes.
constexpr std::size_t granularity = 2 << 20;

// Creates memory of the device that the properties name. Throws if the device has too little left.
std::shared_ptr<Physical> make_physical(const CUmemAllocationProp& properties, std::size_t size);
// The memory behind a file descriptor. Throws if the file is not such memory.
std::shared_ptr<Physical> import_physical(int file);

// Gives the program one more handle of the memory. All handles of one memory are one number.
CUmemGenericAllocationHandle give_handle(const std::shared_ptr<Physical>& physical);
// The physical memory of a handle. Throws if the handle is not valid.
std::shared_ptr<Physical> physical_of(CUmemGenericAllocationHandle handle);

}  // namespace dunnage::sim
