#include "transport/shm/slots.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace dunnage::transport::shm {
namespace {

/// Bytes for the ring, and for every chunk that may come after the ring.
std::uint64_t room_for(const Slot& slot, std::uint32_t index) {
  return (ring_of(slot) + chunks_of(slot, index)) * static_cast<std::uint64_t>(chunk_of(slot));
}

/// How many bytes of the region the sender has written.
std::uint64_t touched(const Slot& slot) {
  const auto written = slot.written.load(std::memory_order_relaxed),
             turned = slot.turned.load(std::memory_order_relaxed);
  const auto places = written <= turned ? std::min(written, ring_of(slot)) : ring_of(slot) + (written - turned);
  return places * static_cast<std::uint64_t>(chunk_of(slot));
}

}  // namespace

bool Slots::free_if_done(Offered& offered) {
  auto& s = slot(offered.slot);
  if (s.state.load(std::memory_order_acquire) != Slot::done || !s.packed.load(std::memory_order_acquire)) return false;
  auto& region = offered.region;
  if (region.size != 0) {  // else the receiver has read the data in the GPU's memory
    region.touched = std::max(region.touched, touched(s));
    s.gpu ? room_.gpu_regions.give_back(region, s.size) : room_.regions.give_back(region);
  }
  s.state.store(Slot::free, std::memory_order_relaxed);
  return true;
}

void Slots::free_done() {
  std::erase_if(offered_, [&](Offered& offered) { return free_if_done(offered); });
}

void Slots::collect() {
  const std::lock_guard lock(room_.mutex);
  free_done();
}

std::optional<std::uint64_t> Slots::nonce() {
  if (!nonces_) {
    std::uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return std::nullopt;
    nonces_.emplace(seed);
  }
  return (*nonces_)();
}

std::optional<std::uint32_t> Slots::free_slot(std::uint32_t receiver, Slot::Kind kind) {
  const auto& avoided = avoided_[receiver];
  for (std::uint32_t tried = 0; tried < slots; ++tried) {
    const auto index = next_slot_++ % slots;
    if (slot(index).state.load(std::memory_order_relaxed) != Slot::free) continue;
    if (kind == Slot::token || !avoided || !(*avoided)[kind][index]) return index;
  }
  return std::nullopt;
}

std::optional<Outgoing> Slots::offer(Offer offer) {
  const std::lock_guard lock(room_.mutex);
  free_done();
  if (offered_.size() == slots) return std::nullopt;
  std::uint64_t chance = 0;
  if (offer.kind == Slot::token) {
    const auto drawn = nonce();
    if (!drawn) return std::nullopt;
    chance = *drawn;
  }
  const auto index = free_slot(offer.receiver, offer.kind);
  if (!index) return std::nullopt;
  offered_.reserve(offered_.size() + 1);
  auto& s = slot(*index);
  s.size = offer.size;
  s.gpu = offer.gpu;
  s.kind = offer.kind;
  const auto region = offer.gpu ? std::optional(Region()) : room_.regions.take(room_for(s, *index));
  if (!region) return std::nullopt;
  if (offer.kind == Slot::token) s.name = Token::make(chance, own_.header().rank, *index);
  std::copy(offer.head.begin(), offer.head.end(), own_.header().heads[*index]);
  own_.header().stamps[*index] = offer.stamp;
  s.receiver = offer.receiver;
  s.serial = next_serial_++;
  s.region = region->begin;
  s.tag = offer.tag;
  s.packed.store(Slot::no, std::memory_order_relaxed);
  s.mover.store(Slot::nobody, std::memory_order_relaxed);
  s.ready.store(0, std::memory_order_relaxed);
  s.shares_length.store(0, std::memory_order_relaxed);
  s.written.store(0, std::memory_order_relaxed);
  s.read.store(0, std::memory_order_relaxed);
  s.turned.store(~std::uint64_t{0}, std::memory_order_relaxed);
  s.state.store(Slot::offered, std::memory_order_release);
  offered_.push_back({*index, &offer.memory, *region, std::move(offer.keeps)});
  return Outgoing(&own_, &offer.memory, *index);
}

bool Slots::make_room(const Outgoing& outgoing, bool must) {
  const std::lock_guard lock(room_.mutex);
  auto& s = outgoing.slot();
  const auto mine =
      std::find_if(offered_.begin(), offered_.end(), [&](const Offered& o) { return o.slot == outgoing.slot_; });
  if (mine == offered_.end()) return false;
  const auto region = room_.gpu_regions.take(s.size, must);
  if (!region) return false;
  mine->region = *region;
  s.region = region->begin;
  return true;
}

void Slots::avoid(std::uint32_t receiver, std::int64_t length) {
  if (receiver >= avoided_.size() || !ticket_length(length)) return;
  const auto index = slot_of(length);
  const std::lock_guard lock(room_.mutex);
  auto& avoided = avoided_[receiver];
  if (!avoided) avoided = std::make_unique<std::array<std::bitset<slots>, 2>>();
  const auto kind = gpu_lengths.has(length) ? Slot::brief : Slot::usual;
  (*avoided)[kind].set(index);
  auto& s = slot(index);
  if (s.receiver == receiver && s.kind == kind) s.shares_length.store(1, std::memory_order_release);
}

bool Slots::all_received(bool in_doubt) {
  const std::lock_guard lock(room_.mutex);
  free_done();
  std::erase_if(offered_, [&](const Offered& offered) {
    const auto state = slot(offered.slot).state.load(std::memory_order_acquire);
    // If the receiver has it, it does not matter whether all was packed.
    if (state == Slot::done) return true;
    const bool unwanted = state == Slot::offered && offered.receiver->header().leaving.load(std::memory_order_acquire);
    return unwanted || (in_doubt && !offered.receiver->alive());
  });
  return offered_.empty();
}

}  // namespace dunnage::transport::shm
