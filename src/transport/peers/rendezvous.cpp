#include "transport/peers/rendezvous.hpp"

#include <algorithm>
#include <utility>

namespace dunnage::transport::peers {

using shm::Slot;

std::optional<Outgoing> Rendezvous::offer(std::uint32_t receiver, std::int64_t size, int tag, bool gpu, Hold names,
                                          const ChannelStamp& stamp) {
  const auto& memory = *peers_.memory(receiver);
  const auto kind = gpu && memory.header().brief ? Slot::brief : Slot::usual;
  return slots_.offer({receiver, memory, size, tag, gpu, kind, {}, std::move(names), stamp});
}

/// Whether a slot is offered to this process, with a ticket of that length.
bool Rendezvous::is_offered(const Slot& slot, std::uint32_t number, std::int64_t length) const {
  return slot.state.load(std::memory_order_acquire) == Slot::offered && slot.receiver == peers_.self().rank &&
         slot.kind != Slot::token && shm::length_of(slot, number) == length;
}

/// Calls f(slot, number) for each slot of `sender` that is offered to this process with a ticket of
/// that length, until f returns false.
template <class F>
void Rendezvous::for_each_offered(std::uint32_t sender, std::int64_t length, F&& f) const {
  const auto* memory = peers_.memory(sender);
  if (!memory) return;
  const auto rows = std::min(memory->header().rows.load(std::memory_order_acquire), transport::rows);
  for (std::uint32_t row = 0; row < rows; ++row) {
    const auto number = row * length_count + index_of(length);
    if (const auto& slot = memory->slot(number); is_offered(slot, number, length) && !f(slot, number)) return;
  }
}

bool Rendezvous::expects(std::int64_t length) const {
  bool expected = false;
  for (std::uint32_t rank = 0; rank < peers_.self().ranks && !expected; ++rank)
    for_each_offered(rank, length, [&](const Slot&, std::uint32_t) {
      expected = true;
      return false;
    });
  return expected;
}

std::optional<Incoming> Rendezvous::recognise(const Ticket& ticket, std::int64_t length) const {
  if (ticket.magic != Ticket::known_magic || ticket.receiver != peers_.self().rank || !ticket_length(length) ||
      ticket.slot >= slots || ticket.slot % length_count != index_of(length))
    return std::nullopt;
  if (ticket.way != Ticket::gpu && ticket.way != Ticket::shared_memory) return std::nullopt;
  const auto* memory = peers_.memory(ticket.sender);
  if (!memory) return std::nullopt;
  const auto& slot = memory->slot(ticket.slot);
  if (!is_offered(slot, ticket.slot, length) || slot.serial != ticket.serial || slot.size != ticket.size ||
      (slot.gpu != 0) != (ticket.way == Ticket::gpu))
    return std::nullopt;
  return Incoming(memory, ticket.slot);
}

/// Tickets of one length to this process announce data of one size.
std::int64_t Rendezvous::size_of(std::uint32_t sender, std::int64_t length, int tag) const {
  auto size = length;
  if (ticket_length(length))
    for_each_offered(sender, length, [&](const Slot& slot, std::uint32_t) {
      if (slot.tag == tag) size = slot.size;
      return slot.tag != tag;
    });
  return size;
}

std::optional<Incoming> Rendezvous::truncated(std::uint32_t sender, std::int64_t length, int tag) const {
  std::optional<Incoming> truncated;
  bool sure = true;
  // Not every sender has looked at the lengths of its shorter messages.
  if (host_lengths.has(length))
    for_each_offered(sender, length, [&](const Slot& slot, std::uint32_t number) {
      sure = !truncated && slot.tag == tag && !slot.shares_length.load(std::memory_order_acquire);
      if (sure) truncated.emplace(peers_.memory(sender), number);
      return sure;
    });
  return sure ? truncated : std::nullopt;
}

}  // namespace dunnage::transport::peers
