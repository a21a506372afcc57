#include "transport/shm/slots.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace dunnage::transport::shm {
namespace {

/// Bytes for the ring, and for every chunk that may come after the ring.
std::uint64_t room_for(const Slot& slot, std::uint32_t number) {
  return (ring_of(slot) + chunks_of(slot, number)) * static_cast<std::uint64_t>(chunk_of(slot));
}

/// How many bytes of the region the sender has written.
std::uint64_t touched(const Slot& slot) {
  const auto written = slot.written.load(std::memory_order_relaxed),
             turned = slot.turned.load(std::memory_order_relaxed);
  const auto places = written <= turned ? std::min(written, ring_of(slot)) : ring_of(slot) + (written - turned);
  return places * static_cast<std::uint64_t>(chunk_of(slot));
}

}  // namespace

bool Slots::free_if_done(std::uint32_t number) {
  auto& s = own_.slot(number);
  if (s.state.load(std::memory_order_acquire) != Slot::done || !s.packed.load(std::memory_order_acquire)) return false;
  auto& offered = offered_[number];
  auto& region = offered.region;
  if (region.size != 0) {  // else the receiver has read the data in the GPU's memory
    region.touched = std::max(region.touched, touched(s));
    s.gpu ? room_.gpu_regions.give_back(region, s.size) : room_.regions.give_back(region);
  }
  offered = {};
  s.state.store(Slot::free, std::memory_order_relaxed);
  numbers_.give_back(number, s.receiver, static_cast<Slot::Kind>(s.kind));
  return true;
}

void Slots::free_done() {
  std::erase_if(active_, [&](std::uint32_t number) { return free_if_done(number); });
  own_.header().rows.store(numbers_.rows(), std::memory_order_relaxed);
  looks_ = 0;
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

std::optional<Outgoing> Slots::offer(Offer offer) {
  const std::lock_guard lock(room_.mutex);
  // A new operation looks at all others if they are few, so that memory is used again while the
  // caches hold it. To look at thousands each time would take longer than the messages.
  constexpr std::size_t few = 32;
  if ((looks_ += few) >= active_.size()) free_done();
  std::uint64_t chance = 0;
  if (offer.kind == Slot::token) {
    const auto drawn = nonce();
    if (!drawn) return std::nullopt;
    chance = *drawn;
  }
  const auto number = numbers_.take(offer.receiver, offer.kind, offer.size);
  if (!number) return std::nullopt;
  auto& s = own_.slot(*number);
  s.size = offer.size;
  s.gpu = offer.gpu;
  s.kind = offer.kind;
  auto region = offer.gpu ? std::optional(Region()) : room_.regions.take(room_for(s, *number));
  if (!region) {
    numbers_.give_back(*number, offer.receiver, offer.kind);
    return std::nullopt;
  }
  if (offered_.size() <= *number) offered_.resize(*number + 1);
  active_.reserve(active_.size() + 1);
  if (offer.kind == Slot::token) s.name = Token::make(chance, own_.header().rank, *number);
  if (offer.gpu) {
    std::copy(offer.head.begin(), offer.head.end(), own_.details(*number).head);
    own_.details(*number).stamp = offer.stamp;
  }
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
  own_.header().rows.store(numbers_.rows(), std::memory_order_relaxed);
  s.state.store(Slot::offered, std::memory_order_release);
  offered_[*number] = {&offer.memory, *region, std::move(offer.keeps)};
  active_.push_back(*number);
  return Outgoing(&own_, &offer.memory, *number);
}

bool Slots::make_room(const Outgoing& outgoing, bool must) {
  const std::lock_guard lock(room_.mutex);
  auto& s = outgoing.slot();
  if (outgoing.slot_ >= offered_.size() || !offered_[outgoing.slot_].receiver) return false;
  auto region = room_.gpu_regions.take(s.size, false);
  if (!region) {
    free_done();
    region = room_.gpu_regions.take(s.size, must);
  }
  if (!region) return false;
  offered_[outgoing.slot_].region = *region;
  s.region = region->begin;
  return true;
}

void Slots::avoid(std::uint32_t receiver, std::int64_t length) {
  if (receiver >= own_.header().ranks || !ticket_length(length)) return;
  const auto kind = gpu_lengths.has(length) ? Slot::brief : Slot::usual;
  const std::lock_guard lock(room_.mutex);
  numbers_.avoid(receiver, kind, index_of(length));
  for (std::uint32_t row = 0; row < numbers_.rows(); ++row) {
    auto& s = own_.slot(row * length_count + index_of(length));
    if (s.receiver == receiver && s.kind == kind) s.shares_length.store(1, std::memory_order_release);
  }
}

bool Slots::all_received(bool in_doubt) {
  const std::lock_guard lock(room_.mutex);
  free_done();
  std::erase_if(active_, [&](std::uint32_t number) {
    const auto state = own_.slot(number).state.load(std::memory_order_acquire);
    // If the receiver has it, it does not matter whether all was packed.
    if (state == Slot::done) return true;
    const auto& receiver = *offered_[number].receiver;
    const bool unwanted = state == Slot::offered && receiver.header().leaving.load(std::memory_order_acquire);
    return unwanted || (in_doubt && !receiver.alive());
  });
  return active_.empty();
}

}  // namespace dunnage::transport::shm
