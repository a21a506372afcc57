// Addresses in a process' own shared memory, for the data of its operations and publications.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "transport/shm/memory.hpp"

namespace dunnage::transport::shm {

/// Bytes [begin, begin + size) of a memory's data.
struct Region {
  std::uint64_t begin = 0, size = 0;
  std::uint64_t touched = 0;  // bytes from the beginning that the kernel provides memory for
};

/// The regions for data that come from a GPU's memory. Not thread-safe.
class GpuRegions {
 public:
  /// `most`: as for Regions.
  GpuRegions(const Memory& memory, std::uint64_t most) : memory_(memory), most_(most) {}
  /// A region for `size` bytes of data. Returns nothing if `most` is reached, or if there are no
  /// more addresses. `must`: exceeds `most` if necessary.
  std::optional<Region> take(std::int64_t size, bool must);
  /// `size`: bytes of the data.
  void give_back(Region region, std::int64_t size);

 private:
  const Memory& memory_;
  std::uint64_t most_, taken_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> idle_;  // where idle regions begin, by their size
  std::uint64_t fresh_ = gpu_regions_begin;                   // no region has begun here or later
};

/// The regions for all other data. Sizes are rounded up to powers of two. The region that was given
/// back last is taken first, because the kernel still provides its memory and the caches may hold
/// it. Not thread-safe.
class Regions {
 public:
  /// `most`: bytes of data that may be taken at a time. Because of the rounding, regions may add up
  /// to twice that. `idle`: bytes of memory that regions keep after they were given back.
  Regions(const Memory& memory, std::uint64_t most, std::uint64_t idle)
      : memory_(memory), most_(most), idle_limit_(idle) {}

  /// Returns nothing if `most` is reached, or if there are no more addresses.
  std::optional<Region> take(std::uint64_t size);
  void give_back(Region region);
  /// Takes a region that does not count towards `most`. Returns nothing if there are no more
  /// addresses.
  std::optional<Region> take_any(std::uint64_t size);
  /// Gives back what take_any() returned.
  void give_back_any(Region region);

 private:
  const Memory& memory_;
  std::uint64_t most_, idle_limit_, taken_ = 0, idle_ = 0, fresh_ = 0;
  std::array<std::vector<Region>, 64> shelves_;
};

/// All regions of a memory. Slots and Publications share them: each locks `mutex` while it works on
/// its regions.
struct Room {
  Room(const Memory& memory, std::uint64_t most, std::uint64_t idle)
      : regions(memory, most, idle), gpu_regions(memory, most) {}
  std::mutex mutex;
  Regions regions;
  GpuRegions gpu_regions;
};

}  // namespace dunnage::transport::shm
