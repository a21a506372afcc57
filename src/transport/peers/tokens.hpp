// Tokens between the ranks of this host: eager messages of data in a GPU's memory, each of which
// begins with a token in place of the data (transport/ticket.hpp).
#pragma once

#include <optional>
#include <span>

#include "transport/peers/peers.hpp"
#include "transport/peers/places.hpp"
#include "transport/shm/incoming.hpp"
#include "transport/shm/slots.hpp"

namespace dunnage::transport::peers {

using shm::Incoming;
using shm::Outgoing;

/// Thread-safe. The receiver's part takes no lock.
class Tokens {
 public:
  Tokens(const Memory& own, const Peers& peers, shm::Slots& slots) : own_(own), peers_(peers), slots_(slots) {}

  // The sender's part. `receiver` is one for which the peers' reaches() is true.
  /// Whether that rank takes tokens.
  bool taken_by(std::uint32_t receiver) const {
    return peers_.memory(receiver)->header().takes_tokens.load(std::memory_order_relaxed) != 0;
  }
  /// Offers an operation for a message of `size` bytes, a length that token_length() has. `head`:
  /// what a ticket would begin with. `names`: a hold of the memory that the operation names, if it
  /// names any. Returns nothing if there is no room, or if the receiver takes no tokens any more.
  std::optional<Outgoing> offer(std::uint32_t receiver, std::int64_t size, int tag, std::span<const char> head,
                                Hold names = nullptr, const ChannelStamp& stamp = {});

  // The receiver's part.
  /// Whether a token may come to this process. One load.
  bool expected() const { return own_.header().tokens.load(std::memory_order_relaxed) != 0; }
  /// From now on others send this process no tokens, because it is about to begin receives that it
  /// does not look at. Returns whether a token may still come: then such a receive must be looked
  /// at all the same.
  bool refuse();
  /// The operation that a token names. Returns nothing if these bytes are no token of an operation
  /// that is offered with a message of that length.
  std::optional<Incoming> recognise(std::uint64_t token, std::int64_t length) const;

 private:
  const Memory& own_;
  const Peers& peers_;
  shm::Slots& slots_;
};

}  // namespace dunnage::transport::peers
