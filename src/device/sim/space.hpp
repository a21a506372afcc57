// Addresses. What a program gets lies in one reserved range, which no processor may touch; the same memory is mapped readable
// and writable at a fixed distance for the simulator itself. Each device has a part of the range with a file of memory behind
// it; the last part is for memory of other processes and for virtual memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <cuda.h>

namespace dunnage::sim {

constexpr std::uint64_t page = 4096;

// Free pieces of a range, first fit.
class FreeList {
 public:
  explicit FreeList(std::uint64_t size) : pieces_{{0, size}}, bytes_(size) {}

  struct Piece {
    std::uint64_t at, size;
  };
  std::optional<std::uint64_t> take(std::uint64_t size);
  Piece give(std::uint64_t at, std::uint64_t size);  // returns the whole free piece that this is part of now
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> pieces_;  // by start
  std::uint64_t bytes_;
};

class Space {
 public:
  /// `reachable`: the host may touch what the devices have at their addresses.
  void reserve(int devices, std::uint64_t memory_of_each, bool reachable);

  // Nothing where the device's memory is exhausted.
  std::optional<CUdeviceptr> take(CUdevice device, std::size_t size);
  void give(CUdevice device, CUdeviceptr address, std::size_t size);
  std::uint64_t free_bytes(CUdevice device) const;

  // Of an address in a device's memory, for other processes: the file and the place in it.
  int file(CUdevice device) const;
  std::uint64_t offset(CUdevice device, CUdeviceptr address) const;
  // Another process's file from `offset` on; nothing where it cannot be mapped.
  std::optional<CUdeviceptr> map_foreign(int file, std::uint64_t offset, std::size_t size);
  void unmap_foreign(CUdeviceptr address, std::size_t size);

  // Addresses with nothing there; nothing where there are no more. `unit`: what they are a multiple of.
  std::optional<CUdeviceptr> reserve_range(std::size_t size, std::size_t unit);
  void give_range(CUdeviceptr address, std::size_t size);
  // A whole file there, for the simulator to read and write. False where it cannot be mapped.
  static bool show(CUdeviceptr address, int file, std::size_t size);
  static void hide(CUdeviceptr address, std::size_t size);

  static bool holds(const void* address);
  static void* translate(const void* address);

 private:
  struct Part {
    CUdeviceptr start;
    int file;
    FreeList free;
  };
  std::vector<Part> parts_;  // the devices', and the foreign one
  Part& part(CUdevice device) { return parts_[static_cast<std::size_t>(device)]; }
  const Part& part(CUdevice device) const { return parts_[static_cast<std::size_t>(device)]; }
};

}  // namespace dunnage::sim
