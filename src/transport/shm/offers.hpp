// Publications that a process offers to one other rank of its host. The other rank looks them up by
// a name that both ranks make alike. Nobody waits for anybody.
#pragma once

#include <optional>

#include "transport/shm/memory.hpp"
#include "transport/shm/named_places.hpp"

namespace dunnage::transport::shm {

inline constexpr std::uint32_t most_looks_at_offers = 16;

/// Where a publication is found (publications.hpp).
struct Offered {
  std::uint64_t begin = 0, serial = 0;
};

/// Offers a publication under a name in this process' own memory. The place of the name is never
/// given back. Returns false if there is no place. `name`: not 0. Thread-safe.
inline bool offer(const Memory& own, std::uint64_t name, const Offered& what) {
  const auto number = take_place(
      name, offers, most_looks_at_offers, [&](std::uint32_t place) -> auto& { return own.offer(place).name; });
  if (!number) return false;
  auto& place = own.offer(*number);
  place.begin.store(what.begin, std::memory_order_relaxed);
  place.serial.store(what.serial, std::memory_order_release);
  return true;
}

/// What the owner of the memory offers under that name, if anything. Thread-safe.
inline std::optional<Offered> find_offer(const Memory& memory, std::uint64_t name) {
  for (std::uint32_t i = 0; i < most_looks_at_offers; ++i) {
    const auto& place = memory.offer(static_cast<std::uint32_t>((name + i) % offers));
    const auto there = place.name.load(std::memory_order_acquire);
    if (there == 0) break;
    if (there != name) continue;
    const auto serial = place.serial.load(std::memory_order_acquire);
    if (serial == 0) break;  // the owner is writing it
    return Offered{place.begin.load(std::memory_order_relaxed), serial};
  }
  return std::nullopt;
}

}  // namespace dunnage::transport::shm
