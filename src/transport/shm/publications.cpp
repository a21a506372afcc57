#include "transport/shm/publications.hpp"

#include <algorithm>
#include <new>

namespace dunnage::transport::shm {

std::optional<std::uint64_t> Publications::make(std::uint64_t serial, std::int64_t size, std::uint32_t readers, std::shared_ptr<const void> kept) {
  collect();
  out_.reserve(out_.size() + 1);
  const auto bytes = static_cast<std::uint64_t>(Publication::data_begin + size);
  auto region = regions_.take_any(bytes);
  if (!region) return std::nullopt;
  region->touched = std::max(region->touched, bytes);
  auto* publication = new (memory_.data() + region->begin) Publication;
  publication->serial = serial;
  publication->size = size;
  publication->left.store(readers + 1, std::memory_order_release);
  out_.push_back({*region, std::move(kept)});
  return region->begin;
}

bool Publications::collect() {
  std::erase_if(out_, [&](const Out& out) {
    const auto& publication = *reinterpret_cast<const Publication*>(memory_.data() + out.region.begin);
    if (publication.left.load(std::memory_order_acquire) != 0) return false;
    regions_.give_back_any(out.region);
    return true;
  });
  return out_.empty();
}

}  // namespace dunnage::transport::shm
