#include "transport/shm/regions.hpp"

#include <bit>

namespace dunnage::transport::shm {
namespace {
constexpr std::uint64_t smallest = 64 << 10;

std::uint64_t whole(std::uint64_t size) { return std::bit_ceil(size < smallest ? smallest : size); }
}  // namespace

std::optional<Region> GpuRegions::take(std::int64_t size, bool must) {
  if (size > static_cast<std::int64_t>(data_size / 4)) return std::nullopt;
  const auto whole = gpu_region(size);
  if (!must && taken_ + whole > 2 * most_) return std::nullopt;
  auto& idle = idle_[whole];
  if (idle.empty()) {
    if (data_size - fresh_ < whole) return std::nullopt;
    idle.push_back(fresh_);
    fresh_ += whole;
  }
  const Region region{idle.back(), whole, 0};
  idle.pop_back();
  taken_ += whole;
  return region;
}  // namespace

void GpuRegions::give_back(Region region, std::int64_t size) {
  taken_ -= region.size;
  // The ring is page-locked: the kernel cannot take its memory back.
  const auto ring = gpu_ring(size);
  if (region.touched > ring && region.size > ring) memory_.empty(region.begin + ring, region.size - ring);
  idle_[region.size].push_back(region.begin);
}  // namespace

std::optional<Region> Regions::take(std::uint64_t size) {
  if (size > most_ || taken_ + whole(size) > 2 * most_) return std::nullopt;
  const auto region = take_any(size);
  if (region) taken_ += region->size;
  return region;
}  // namespace

void Regions::give_back(Region region) {
  taken_ -= region.size;
  give_back_any(region);
}  // namespace

std::optional<Region> Regions::take_any(std::uint64_t size) {
  if (size > gpu_regions_begin) return std::nullopt;
  size = whole(size);
  Region region{fresh_, size, 0};
  if (auto& idle = shelves_[static_cast<std::size_t>(std::bit_width(size) - 1)]; !idle.empty()) {
    region = idle.back();
    idle.pop_back();
    idle_ -= region.touched;
  } else {
    if (gpu_regions_begin - fresh_ < size) return std::nullopt;
    fresh_ += size;
  }
  return region;
}  // namespace

void Regions::give_back_any(Region region) {
  if (idle_ + region.touched > idle_limit_) {
    memory_.empty(region.begin, region.size);
    region.touched = 0;
  }
  idle_ += region.touched;
  shelves_[static_cast<std::size_t>(std::bit_width(region.size) - 1)].push_back(region);
}  // namespace

}  // namespace dunnage::transport::shm
