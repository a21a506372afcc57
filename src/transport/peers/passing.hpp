// What one process passes to another as descriptors, so that operations can name it.
//
// The sender sends the descriptor to the receiver's socket, and says in its mailbox at which place
// the memory now stands. When the receiver next looks at its mailboxes, it takes the descriptor,
// and answers whether it holds the memory. Only then may an operation name the memory: no message
// depends on a descriptor that may not come. The receiver holds the memory until the sender puts
// other memory at that place.
//
// To make a descriptor, and to take one, are work on a device. No lock is held while this work is
// done.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/peers/descriptor_socket.hpp"
#include "transport/peers/peers.hpp"
#include "transport/peers/places.hpp"

namespace dunnage::transport::peers {

/// Thread-safe. `rank` is always one for which the peers' reaches() is true.
class Passing {
 public:
  Passing(const Memory& own, const Peers& peers) : own_(own), peers_(peers), places_(peers.self().ranks) {}

  /// A hold of memory of this process that the rank holds, else null.
  Hold held(std::uint32_t rank, const Allocation& memory);
  /// Goes a step towards that, with the descriptor that make() returns. An empty descriptor says
  /// that there is none. `bytes` travel with the descriptor.
  void pass(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes,
            const std::function<base::Descriptor()>& make);

  /// How this process takes what others pass to it: `take` returns whether it holds that from now
  /// on, and must not throw. What the same rank has passed to the same place before is no longer
  /// wanted. Until this is called, nothing is passed to this process and by this process. The first
  /// call counts.
  using Take = std::function<bool(std::uint32_t rank, std::uint32_t place, DescriptorSocket::Message message)>;
  void take_with(Take take);
  /// Takes what that rank has passed. World calls this, in one thread at a time.
  void answer(std::uint32_t rank);

 private:
  Places& places(std::uint32_t rank);
  Mailbox& mailbox_at(std::uint32_t rank) const { return peers_.memory(rank)->mailbox(peers_.self().rank); }

  const Memory& own_;
  const Peers& peers_;
  std::mutex mutex_;  // guards everything below
  std::unique_ptr<DescriptorSocket> socket_;
  Take take_;
  std::vector<std::unique_ptr<Places>> places_;  // by rank
  std::uint64_t next_serial_ = 1;
};

}  // namespace dunnage::transport::peers
