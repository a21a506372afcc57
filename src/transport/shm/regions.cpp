#include "transport/shm/regions.hpp"

#include <bit>

namespace dunnage::transport::shm {
namespace {
constexpr std::uint64_t smallest = 64 << 10;
}

std::optional<Region> Regions::take(std::uint64_t size) {
  if (size > most_ || taken_ + std::bit_ceil(size) > 2 * most_) return std::nullopt;
  return take_anyway(size);
}

std::optional<Region> Regions::take_anyway(std::uint64_t size) {
  size = std::bit_ceil(size < smallest ? smallest : size);
  Region region{fresh_, size, 0};
  if (auto& idle = shelves_[static_cast<std::size_t>(std::bit_width(size) - 1)]; !idle.empty()) {
    region = idle.back();
    idle.pop_back();
    idle_ -= region.touched;
  } else {
    if (data_size - fresh_ < size) return std::nullopt;
    fresh_ += size;
  }
  taken_ += size;
  return region;
}

void Regions::give_back(Region region) {
  taken_ -= region.size;
  if (idle_ + region.touched > idle_limit_) {
    memory_.empty(region.begin, region.size);
    region.touched = 0;
  }
  idle_ += region.touched;
  shelves_[static_cast<std::size_t>(std::bit_width(region.size) - 1)].push_back(region);
}

}  // namespace dunnage::transport::shm
