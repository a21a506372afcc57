// Tickets between the ranks of this host: the operations that this process offers to others, and
// those that others offer to it (transport/ticket.hpp).
#pragma once

#include <optional>

#include "transport/peers/peers.hpp"
#include "transport/peers/places.hpp"
#include "transport/shm/incoming.hpp"
#include "transport/shm/slots.hpp"

namespace dunnage::transport::peers {

using shm::Incoming;
using shm::Outgoing;

/// Thread-safe. The receiver's part takes no lock.
class Rendezvous {
 public:
  Rendezvous(const Peers& peers, shm::Slots& slots) : peers_(peers), slots_(slots) {}

  // The sender's part. `receiver` is always one for which the peers' reaches() is true, except for
  // avoid().
  /// The lengths of tickets to that rank of data in a GPU's memory.
  const Lengths& gpu_lengths_to(std::uint32_t receiver) const {
    return peers_.memory(receiver)->header().brief ? gpu_lengths : host_lengths;
  }
  /// Offers an operation of `size` bytes, more than any ticket has. `gpu`: the data are in a GPU's
  /// memory, and stay there. `names`: a hold of the memory that the operation names, if it names
  /// any. Returns nothing if there is no room.
  std::optional<Outgoing> offer(std::uint32_t receiver, std::int64_t size, int tag, bool gpu = false,
                                Hold names = nullptr, const ChannelStamp& stamp = {});
  /// Makes room in shared memory for the data of such an operation, which will be packed after all.
  /// Returns false if there is none. `must`: exceeds the limit if necessary.
  bool make_room(const Outgoing& outgoing, bool must = false) { return slots_.make_room(outgoing, must); }
  /// An ordinary message of a ticket's length is about to be sent to that rank. No later ticket to
  /// it has that length.
  void avoid(std::uint32_t receiver, std::int64_t length) { slots_.avoid(receiver, length); }

  // The receiver's part.
  /// Whether any rank offers this process an operation whose ticket has that length, which is a
  /// ticket's. Looks at no message.
  bool expects(std::int64_t length) const;
  /// The operation that a ticket names. Returns nothing if these bytes are no ticket of an
  /// operation that is offered.
  std::optional<Incoming> recognise(const Ticket& ticket, std::int64_t length) const;
  /// The true size of a message of that length that can be received but has not been. Returns the
  /// length itself if the message is no ticket.
  std::int64_t size_of(std::uint32_t sender, std::int64_t length, int tag) const;
  /// The operation whose ticket the MPI has truncated: a message of that length from that rank with
  /// that tag. Returns nothing if the message may have been an ordinary one.
  std::optional<Incoming> truncated(std::uint32_t sender, std::int64_t length, int tag) const;

 private:
  bool is_offered(const shm::Slot& slot, std::uint32_t number, std::int64_t length) const;
  template <class F>
  void for_each_offered(std::uint32_t sender, std::int64_t length, F&& f) const;

  const Peers& peers_;
  shm::Slots& slots_;
};

}  // namespace dunnage::transport::peers
