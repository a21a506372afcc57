// Memory that the driver knows by its address: device memory, page-locked and managed memory,
// memory of other processes, and mapped virtual memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

enum class Kind { device, pool, foreign, managed, pinned, registered, mapped };

struct Physical;
constexpr std::uint64_t every_device = ~std::uint64_t{0};

struct Allocation {
  Kind kind{};
  CUdeviceptr address{};
  std::size_t size = 0;
  CUdevice device = 0;
  unsigned long long owner = 0;  // id of the context
  CUcontext context{};
  unsigned long long id = 0;
  // For memory of another process: the process, the id there, and how often the handle was opened.
  int process = 0;
  unsigned long long foreign_id = 0;
  int opened = 0;
  // For virtual memory: the physical memory, and the reserved range of the mapping.
  std::shared_ptr<Physical> physical{};
  CUdeviceptr range{};
  std::size_t range_size = 0;
  std::uint64_t devices = every_device;  // which devices may access the memory, one bit for each

  bool on_device() const {
    return kind == Kind::device || kind == Kind::pool || kind == Kind::foreign || kind == Kind::mapped;
  }
};

struct Context;

// The allocation that contains the address. Null if the driver does not know the address.
std::shared_ptr<Allocation> find_allocation(CUdeviceptr address);

// Registers memory that the context owns.
std::shared_ptr<Allocation> add_allocation(const Context& context, Kind kind, CUdeviceptr address, std::size_t size);

std::shared_ptr<Allocation> add_allocation(Allocation allocation);

// Removes an allocation and frees its memory.
void release(const Allocation& allocation);

}  // namespace dunnage::sim
