#include "transport/peers/rendezvous.hpp"

#include <utility>

namespace dunnage::transport::peers {

using shm::Slot;

std::optional<Outgoing> Rendezvous::offer(std::uint32_t receiver, std::int64_t size, int tag, bool gpu, Hold names,
                                          const ChannelStamp& stamp) {
  const auto& memory = *peers_.memory(receiver);
  const auto kind = gpu && memory.header().brief ? Slot::brief : Slot::usual;
  return slots_.offer({receiver, memory, size, tag, gpu, kind, {}, std::move(names), stamp});
}

/// The slot of `sender` whose ticket has that length, if it is offered to this process. Else null.
const Slot* Rendezvous::offered(std::uint32_t sender, std::int64_t length) const {
  const auto* memory = peers_.memory(sender);
  if (!memory) return nullptr;
  const auto& slot = memory->header().slots[slot_of(length)];
  const bool ours = slot.state.load(std::memory_order_acquire) == Slot::offered &&
                    slot.receiver == peers_.self().rank && slot.kind != Slot::token &&
                    shm::length_of(slot, slot_of(length)) == length;
  return ours ? &slot : nullptr;
}

bool Rendezvous::expects(std::int64_t length) const {
  for (std::uint32_t rank = 0; rank < peers_.self().ranks; ++rank)
    if (offered(rank, length)) return true;
  return false;
}

std::optional<Incoming> Rendezvous::recognise(const Ticket& ticket, std::int64_t length) const {
  if (ticket.magic != Ticket::known_magic || ticket.receiver != peers_.self().rank || !ticket_length(length) ||
      ticket.slot != slot_of(length))
    return std::nullopt;
  if (ticket.way != Ticket::gpu && ticket.way != Ticket::shared_memory) return std::nullopt;
  const auto* slot = offered(ticket.sender, length);
  if (!slot || slot->serial != ticket.serial || slot->size != ticket.size ||
      (slot->gpu != 0) != (ticket.way == Ticket::gpu))
    return std::nullopt;
  return Incoming(peers_.memory(ticket.sender), ticket.slot);
}

std::int64_t Rendezvous::size_of(std::uint32_t sender, std::int64_t length, int tag) const {
  const auto* slot = ticket_length(length) ? offered(sender, length) : nullptr;
  return slot && slot->tag == tag ? slot->size : length;
}

std::optional<Incoming> Rendezvous::truncated(std::uint32_t sender, std::int64_t length, int tag) const {
  // Not every sender has looked at the lengths of its shorter messages.
  const auto* slot = host_lengths.has(length) ? offered(sender, length) : nullptr;
  if (!slot || slot->tag != tag || slot->shares_length.load(std::memory_order_acquire)) return std::nullopt;
  return Incoming(peers_.memory(sender), slot_of(length));
}

}  // namespace dunnage::transport::peers
