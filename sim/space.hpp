// Device addresses. Programs get addresses in one reserved range, which the host cannot touch. The
// simulator reaches the memory through a shadow: a second mapping at a fixed distance. Each device
// has a part of the range, with a file as its memory. The last part of the range is for memory of
// other processes and for virtual memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "device/cuda_driver_api.h"

namespace dunnage::sim {

constexpr std::uint64_t page = 4096;

// The free pieces of a range. take() uses the first piece that is large enough.
class FreeList {
 public:
  explicit FreeList(std::uint64_t size) : pieces_{{0, size}}, bytes_(size) {}

  struct Piece {
    std::uint64_t at, size;
  };
  std::optional<std::uint64_t> take(std::uint64_t size);
  Piece give(std::uint64_t at, std::uint64_t size);  // returns the free piece that now contains these bytes
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> pieces_;  // by start
  std::uint64_t bytes_;
};

class Space {
 public:
  // `reachable`: the host may touch device memory at its device addresses.
  void reserve(int devices, std::uint64_t memory_of_each, bool reachable);

  // Empty if the device has no memory left.
  std::optional<CUdeviceptr> take(CUdevice device, std::size_t size);
  void give(CUdevice device, CUdeviceptr address, std::size_t size);
  std::uint64_t free_bytes(CUdevice device) const;

  // The file and the offset of an address in device memory. Other processes need both.
  int file(CUdevice device) const;
  std::uint64_t offset(CUdevice device, CUdeviceptr address) const;
  // Maps another process's file from `offset` on. Empty if that fails.
  std::optional<CUdeviceptr> map_foreign(int file, std::uint64_t offset, std::size_t size);
  void unmap_foreign(CUdeviceptr address, std::size_t size);

  // Reserves addresses without memory; the first is a multiple of `unit`. Empty if no addresses are
  // left.
  std::optional<CUdeviceptr> reserve_range(std::size_t size, std::size_t unit);
  void give_range(CUdeviceptr address, std::size_t size);
  // Maps a whole file at an address, for the simulator to read and write. False if that fails.
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
  std::vector<Part> parts_;  // one for each device, then the part for memory of others
  Part& part(CUdevice device) { return parts_[static_cast<std::size_t>(device)]; }
  const Part& part(CUdevice device) const { return parts_[static_cast<std::size_t>(device)]; }
};

}  // namespace dunnage::sim
