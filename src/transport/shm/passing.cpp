#include "transport/shm/passing.hpp"

#include <algorithm>
#include <bit>

namespace dunnage::transport::shm {
namespace {

// Memory is no longer in use that has not been sent from while so many messages came from memory without a place. If these had theirs sooner, more
// memory than there are places for would take them from each other for ever.
constexpr std::uint64_t long_ago = 4 * Letter::places;

}  // namespace

Passing::Place* Passing::find(const Allocation& memory) {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const auto& p) { return p.memory == memory; });
  return found == places_.end() ? nullptr : &*found;
}

std::optional<std::uint32_t> Passing::held(const Allocation& memory, const Letter& letter) {
  auto* place = find(memory);
  if (!place || place->sent != Sent::yes) return std::nullopt;
  place->used = turn_;
  const auto index = static_cast<std::uint32_t>(place - places_.data());
  return letter.passed[index].state.load(std::memory_order_acquire) == Letter::accepted ? std::optional(index) : std::nullopt;
}

/// Where there is none free: that of memory which has been freed, since something else is at its addresses, or else the one that was used longest ago.
Passing::Place* Passing::make_place(const Allocation& memory, const Letter& letter, const std::function<bool(std::uint32_t)>& busy) {
  Place* oldest = nullptr;
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[i];
    if (letter.passed[i].state.load(std::memory_order_acquire) == Letter::asked || busy(i)) continue;
    if (place.memory.begin < memory.begin + memory.size && memory.begin < place.memory.begin + place.memory.size) {
      place = {memory};
      return &place;
    }
    if (!oldest || place.used < oldest->used) oldest = &place;
  }
  if (places_.size() < Letter::places) return &places_.emplace_back(Place{memory});
  if (!oldest || turn_ - oldest->used < long_ago) return nullptr;
  *oldest = {memory};
  return oldest;
}

bool Passing::ask(const Allocation& memory, Letter& letter, std::uint64_t serial, const std::function<bool(std::uint32_t)>& busy,
                  const std::function<Sent(std::uint32_t)>& send) {
  ++turn_;
  auto* place = find(memory);
  if (!place) place = make_place(memory, letter, busy);
  if (!place) return false;
  place->used = turn_;
  // Where it cannot be sent now, it is tried ever more rarely.
  if (place->sent != Sent::not_now || !std::has_single_bit(++place->tried)) return false;
  const auto index = static_cast<std::uint32_t>(place - places_.data());
  place->sent = send(index);
  if (place->sent != Sent::yes) return false;
  letter.passed[index].serial = serial;
  letter.passed[index].state.store(Letter::asked, std::memory_order_release);
  return true;
}

}  // namespace dunnage::transport::shm
