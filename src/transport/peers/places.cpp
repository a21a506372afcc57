#include "transport/peers/places.hpp"

#include <algorithm>
#include <bit>

namespace dunnage::transport::peers {
namespace {

// Memory is no longer in use if nothing was sent from it for so many turns, in each of which a
// message came from memory without a place. If places were replaced sooner, more memory than there
// are places would replace each other for ever.
constexpr std::uint64_t long_ago = 4 * Mailbox::places;

bool overlap(const Allocation& a, const Allocation& b) {
  return a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

}  // namespace

Places::Place* Places::find(const Allocation& memory) {
  const auto found = std::find_if(places_.begin(), places_.end(), [&](const auto& p) { return p.memory == memory; });
  return found == places_.end() ? nullptr : &*found;
}

Hold Places::held(const Allocation& memory, const Mailbox& mailbox) {
  auto* place = find(memory);
  if (!place || place->sent != Sent::yes) return nullptr;
  place->used = turn_;
  const auto index = static_cast<std::size_t>(place - places_.data());
  return mailbox.passed[index].state.load(std::memory_order_acquire) == Mailbox::accepted ? place->users : nullptr;
}

/// A place for memory that has none. Replaces memory at the same addresses first, because it has
/// been freed. If no place is left, replaces the memory that was used longest ago.
Places::Place* Places::make(const Allocation& memory, const Mailbox& mailbox) {
  Place* oldest = nullptr;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    auto& place = places_[i];
    const bool busy = place.sent == Sent::being_sent || place.users.use_count() > 1 ||
                      mailbox.passed[i].state.load(std::memory_order_acquire) == Mailbox::asked;
    if (busy) continue;
    if (overlap(place.memory, memory)) {
      place = {memory};
      return &place;
    }
    if (!oldest || place.used < oldest->used) oldest = &place;
  }
  if (places_.size() < Mailbox::places) return &places_.emplace_back(Place{memory});
  if (!oldest || turn_ - oldest->used < long_ago) return nullptr;
  *oldest = {memory};
  return oldest;
}

std::optional<std::uint32_t> Places::begin(const Allocation& memory, const Mailbox& mailbox) {
  ++turn_;
  auto* place = find(memory);
  if (!place) place = make(memory, mailbox);
  if (!place) return std::nullopt;
  place->used = turn_;
  if (place->sent != Sent::not_now || !std::has_single_bit(++place->tried)) return std::nullopt;
  place->sent = Sent::being_sent;
  return static_cast<std::uint32_t>(place - places_.data());
}

}  // namespace dunnage::transport::peers
