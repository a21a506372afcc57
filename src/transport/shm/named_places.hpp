// Places in shared memory that processes find by names.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace dunnage::transport::shm {

/// Returns the number of the place of that name, from 0 to `places` - 1. The first one to ask takes
/// a free place for it, which is never given back. Returns nothing if there is no place after
/// `most_looks`, for all processes alike. `name`: not 0. `name_at(number)`: the name that stands at
/// a place; 0 if it is free. Thread-safe.
template <class NameAt>
std::optional<std::uint32_t> take_place(std::uint64_t name, std::uint32_t places, std::uint32_t most_looks,
                                        NameAt&& name_at) {
  for (std::uint32_t i = 0; i < most_looks; ++i) {
    const auto number = static_cast<std::uint32_t>((name + i) % places);
    std::atomic<std::uint64_t>& place = name_at(number);
    auto there = place.load(std::memory_order_acquire);
    if (there == name || (there == 0 && (place.compare_exchange_strong(there, name) || there == name))) return number;
  }
  return std::nullopt;
}

}  // namespace dunnage::transport::shm
