// Addresses in a process' own shared memory for the data of its operations.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "transport/shm/memory.hpp"

namespace dunnage::transport::shm {

struct Region {
  std::uint64_t begin = 0, size = 0;
  std::uint64_t touched = 0;  // bytes of its beginning that hold memory
};

/// The regions for data that come from a GPU's memory. Not thread-safe.
class GpuRegions {
 public:
  /// `most`: as for Regions.
  GpuRegions(const Memory& memory, std::uint64_t most) : memory_(memory), most_(most) {}
  /// For `size` bytes of data. `must`: whatever has been taken.
  std::optional<Region> take(std::int64_t size, bool must);
  /// `size`: of the data.
  void give_back(Region region, std::int64_t size);

 private:
  const Memory& memory_;
  std::uint64_t most_, taken_ = 0;
  std::map<std::uint64_t, std::vector<std::uint64_t>> idle_;  // where they begin, by their size
  std::uint64_t fresh_ = gpu_regions_begin;
};

/// Not thread-safe. Sizes are rounded up to powers of two; what was used last is used first, since its memory is there and in
/// the caches.
class Regions {
 public:
  /// `most`: bytes that may be taken at a time (twice that, for what rounding up costs). `idle`: bytes of memory that are kept in regions not taken.
  Regions(const Memory& memory, std::uint64_t most, std::uint64_t idle) : memory_(memory), most_(most), idle_limit_(idle) {}

  std::optional<Region> take(std::uint64_t size);
  void give_back(Region region);
  /// Whatever has been taken, and not counted in that.
  std::optional<Region> take_any(std::uint64_t size);
  void give_back_any(Region region);

 private:
  const Memory& memory_;
  std::uint64_t most_, idle_limit_, taken_ = 0, idle_ = 0, fresh_ = 0;
  std::array<std::vector<Region>, 64> shelves_;
};

}  // namespace dunnage::transport::shm
