// Everything that the driver knows by its address: device, pinned, managed memory, that of other processes, and mapped virtual memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <cuda.h>

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
  // Of memory of another process: which, and how often it was opened.
  int process = 0;
  unsigned long long foreign_id = 0;
  int opened = 0;
  // Of virtual memory: what is mapped, and the reserved range that it is in.
  std::shared_ptr<Physical> physical{};
  CUdeviceptr range{};
  std::size_t range_size = 0;
  std::uint64_t devices = every_device;  // that may access it, a bit for each

  bool on_device() const { return kind == Kind::device || kind == Kind::pool || kind == Kind::foreign || kind == Kind::mapped; }
};

struct Call;

// The allocation that holds the address; null for what the driver does not know.
std::shared_ptr<Allocation> find_allocation(CUdeviceptr address);

// Adds what is known now as the current context's.
std::shared_ptr<Allocation> add_allocation(const Call& call, Kind kind, CUdeviceptr address, std::size_t size);

std::shared_ptr<Allocation> add_allocation(Allocation allocation);

// Forgets it and gives its memory back.
void release(const Allocation& allocation);

}  // namespace dunnage::sim
