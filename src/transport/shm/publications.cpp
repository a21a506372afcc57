#include "transport/shm/publications.hpp"

#include <algorithm>
#include <new>

namespace dunnage::transport::shm {

std::optional<Reading> find_publication(const Memory& publisher, std::uint64_t begin, std::uint64_t serial,
                                        std::int64_t size) {
  if (size < 0 || begin >= gpu_regions_begin || static_cast<std::uint64_t>(size) > gpu_regions_begin - begin)
    return std::nullopt;
  auto* publication = reinterpret_cast<Publication*>(publisher.data() + begin);
  if (publication->serial != serial || publication->size != size) return std::nullopt;
  return Reading(publication, &publisher);
}

std::optional<Publications::Published> Publications::publish(std::int64_t size, std::uint32_t readers,
                                                             std::shared_ptr<const void> kept, Stay stay) {
  collect();
  const auto bytes = static_cast<std::uint64_t>(Publication::data_begin + size);
  const std::lock_guard lock(room_.mutex);
  out_.reserve(out_.size() + 1);
  auto region = room_.regions.take_any(bytes);
  if (!region) return std::nullopt;
  region->touched = std::max(region->touched, bytes);
  const auto begin = region->begin;
  auto* publication = new (own_.data() + begin) Publication;
  publication->serial = next_serial_++;
  publication->size = size;
  publication->left.store(readers + 1, std::memory_order_release);
  out_.push_back({*region, std::move(kept), stay});
  return Published{begin, publication->serial, own_.data() + begin + Publication::data_begin, &publication->written};
}

bool Publications::collect() {
  std::vector<std::shared_ptr<const void>> read;  // destroyed after the lock
  const std::lock_guard lock(room_.mutex);
  std::erase_if(out_, [&](Out& out) {
    if (at(out.region.begin).left.load(std::memory_order_acquire) != 0) return false;
    if (out.kept) read.push_back(std::move(out.kept));
    room_.regions.give_back_any(out.region);
    return true;
  });
  return std::all_of(out_.begin(), out_.end(), [](const Out& out) { return out.stay == Stay::standing; });
}

void Publications::forget() {
  std::vector<Out> left;  // destroyed after the lock
  const std::lock_guard lock(room_.mutex);
  left.swap(out_);
}

}  // namespace dunnage::transport::shm
