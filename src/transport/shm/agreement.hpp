// The processes of a host agree from which of their calls on they do something themselves. None of
// them waits for another.
//
// All processes make the calls in one order, and each process counts them. Until the processes have
// agreed, the state is the number of the last call that any process has begun. A process that wants
// to agree chooses the call after that one. So no call has been begun in the old way that would
// have to go in the new way. All this is one atomic word, so all processes find one answer for each
// call.
#pragma once

#include <optional>

#include "transport/shm/memory.hpp"
#include "transport/shm/named_places.hpp"

namespace dunnage::transport::shm {

/// Returns the number of the agreement with that name in a memory, which all processes find there.
/// The first one to ask takes a place for it, which is never given back. Returns nothing if there
/// is no place, for all processes alike. `name`: not 0. Thread-safe.
inline std::optional<std::uint32_t> find_agreement(const Memory& memory, std::uint64_t name) {
  constexpr std::uint32_t most_looks = 64;
  return take_place(
      name, agreements, most_looks, [&](std::uint32_t number) -> auto& { return memory.agreement(number).name; });
}

/// Returns whether the processes have agreed, for call number `call` of this process, which begins
/// now. The first call has number 1. `wants()`: whether this process wants to agree. It is asked
/// once if the processes have not agreed before, and must not throw. Thread-safe.
template <class Wants>
bool agreed(Agreement& agreement, std::uint64_t call, Wants&& wants) {
  constexpr auto made = std::uint64_t{1} << 63;  // with this bit the state is the first call agreed on
  std::optional<bool> wanted;
  auto& state = agreement.state;
  for (auto seen = state.load(std::memory_order_acquire);;) {
    if (seen & made) return call >= (seen & ~made);
    if (!wanted) wanted = wants();
    if (!*wanted && seen >= call) return false;
    if (state.compare_exchange_weak(seen, *wanted ? made | (seen + 1) : call)) return *wanted && call > seen;
  }
}

}  // namespace dunnage::transport::shm
