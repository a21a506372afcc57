// The operations that this process offers, each in one slot of its own shared memory.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "transport/shm/outgoing.hpp"
#include "transport/shm/regions.hpp"
#include "transport/shm/slot_numbers.hpp"

namespace dunnage::transport::shm {

/// Thread-safe. Calls nobody while it holds its lock.
class Slots {
 public:
  /// `own`: this process' memory. `room`: its regions.
  Slots(const Memory& own, Room& room) : own_(own), room_(room), numbers_(own.header().ranks) {}

  /// An operation to be offered.
  struct Offer {
    std::uint32_t receiver;  // its rank
    const Memory& memory;    // of the receiver
    std::int64_t size;       // bytes of the data
    int tag;
    bool gpu;  // the data are in a GPU's memory, and there is no region for them before make_room()
    Slot::Kind kind;
    std::span<const char> head;         // of an operation with a token: what a ticket would begin with
    std::shared_ptr<const void> keeps;  // lives until the operation is over
    ChannelStamp stamp{};
  };
  /// Returns nothing if no slot is free that suits, or if there is no region for the data.
  std::optional<Outgoing> offer(Offer offer);
  /// A region for the data of such an operation in a GPU's memory, which will be packed into shared
  /// memory after all. Returns false if there is none. `must`: exceeds the limit of the regions if
  /// necessary.
  bool make_room(const Outgoing& outgoing, bool must);
  /// An ordinary message of a ticket's length is about to be sent to that rank. No later ticket to
  /// it has that length. A ticket that is under way is marked.
  void avoid(std::uint32_t receiver, std::int64_t length);
  /// Frees the slots of operations that are over, with what they keep.
  void collect();
  /// Forgets operations that the receiver has begun, or will never begin because it is leaving.
  /// `in_doubt`: also those of receivers that have died. Returns whether no operation is left.
  bool all_received(bool in_doubt);

 private:
  struct Offered {
    const Memory* receiver = nullptr;
    Region region;
    std::shared_ptr<const void> keeps;
  };
  std::optional<std::uint64_t> nonce();
  bool free_if_done(std::uint32_t number);
  void free_done();

  const Memory& own_;
  Room& room_;  // its mutex guards everything below
  SlotNumbers numbers_;
  std::vector<Offered> offered_;       // by the slot's number
  std::vector<std::uint32_t> active_;  // the numbers of slots that are in use
  std::size_t looks_ = 0;              // how many slots free_done() may look at
  std::uint64_t next_serial_ = 1;
  std::optional<std::mt19937_64> nonces_;  // to ask the kernel for each nonce would take as long as sending the message
};

}  // namespace dunnage::transport::shm
