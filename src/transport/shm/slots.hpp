// The operations that this process offers, each in one slot of its own shared memory.
#pragma once

#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "transport/shm/outgoing.hpp"
#include "transport/shm/regions.hpp"

namespace dunnage::transport::shm {

/// Thread-safe. Calls nobody while it holds its lock.
class Slots {
 public:
  /// `own`: this process' memory. `room`: its regions.
  Slots(const Memory& own, Room& room) : own_(own), room_(room), avoided_(own.header().ranks) {}

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
    std::uint32_t slot;
    const Memory* receiver;
    Region region;
    std::shared_ptr<const void> keeps;
  };
  Slot& slot(std::uint32_t index) const { return own_.header().slots[index]; }
  std::optional<std::uint64_t> nonce();
  std::optional<std::uint32_t> free_slot(std::uint32_t receiver, Slot::Kind kind);
  bool free_if_done(Offered& offered);
  void free_done();

  const Memory& own_;
  Room& room_;                                                               // its mutex guards everything below
  std::vector<std::unique_ptr<std::array<std::bitset<slots>, 2>>> avoided_;  // by receiver, and by Slot::Kind
  std::vector<Offered> offered_;
  std::uint32_t next_slot_ = 0;
  std::uint64_t next_serial_ = 1;
  std::optional<std::mt19937_64> nonces_;  // to ask the kernel for each nonce would take as long as sending the message
};

}  // namespace dunnage::transport::shm
