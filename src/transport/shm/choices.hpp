// What a process has found out about data of one kind, for the other ranks of its host. They look
// it up by a name that all ranks make alike. Nobody waits for anybody.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/shm/memory.hpp"
#include "transport/shm/named_places.hpp"

namespace dunnage::transport::shm {

inline constexpr std::uint32_t most_looks_at_choices = 16;

/// The place of that name in this process' own memory, which the process writes. The first call
/// takes it, and it is never given back. Returns null if there is none. `name`: not 0. Thread-safe.
inline std::atomic<std::uint32_t>* take_choice(const Memory& own, std::uint64_t name) {
  const auto number = take_place(
      name, choices, most_looks_at_choices, [&](std::uint32_t place) -> auto& { return own.choice(place).name; });
  return number ? &own.choice(*number).what : nullptr;
}

/// What the owner of the memory has written under that name; 0 if it has written nothing.
/// Thread-safe.
inline std::uint32_t find_choice(const Memory& memory, std::uint64_t name) {
  for (std::uint32_t i = 0; i < most_looks_at_choices; ++i) {
    const auto& choice = memory.choice(static_cast<std::uint32_t>((name + i) % choices));
    const auto there = choice.name.load(std::memory_order_acquire);
    if (there == name) return choice.what.load(std::memory_order_relaxed);
    if (there == 0) break;
  }
  return 0;
}

}  // namespace dunnage::transport::shm
