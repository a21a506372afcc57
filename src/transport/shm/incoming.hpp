// The receiver's end of one operation: it unpacks chunks from the sender's shared memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/shm/at_once.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::transport::shm {

/// A handle: copies name the same operation. Whoever has one must call fetch(), fetch_by() or
/// discard(). Not thread-safe.
class Incoming {
 public:
  Incoming(const Memory* sender, std::uint32_t slot) : sender_(sender), slot_(slot) {}

  /// Bytes of the whole data.
  std::int64_t size() const { return slot().size; }
  /// Bytes of the data that travelled in the ticket.
  std::int64_t carried() const { return shm::carried(slot(), slot_); }
  /// What a ticket would begin with, if a token came. Returns null if a ticket came.
  const unsigned char* head() const { return slot().kind == Slot::token ? sender_->details(slot_).head : nullptr; }
  /// The channel of the message. To be asked before claim() and discard().
  const ChannelStamp& stamp() const { return sender_->details(slot_).stamp; }
  /// Claims data in a GPU's memory: this process gets them from there, until discard(). Waits until
  /// they can be read. Returns false if the sender packs them into shared memory, from where they
  /// are to be fetched, or if it has died.
  bool claim() const {
    auto& s = slot();
    auto nobody = std::uint32_t{Slot::nobody};
    if (!s.mover.compare_exchange_strong(nobody, Slot::receiver_gpu)) return false;
    s.state.store(Slot::claimed, std::memory_order_release);
    for (Patience patience; s.ready.load(std::memory_order_acquire) == 0;) {
      if (s.packed.load(std::memory_order_acquire) == Slot::failed) return false;
      patience.wait();
      if (patience.doubts() && !sender_->alive()) return false;
    }
    return true;
  }
  /// Whether the sender could not pack the data.
  bool failed() const { return slot().packed.load(std::memory_order_acquire) == Slot::failed; }
  /// Calls unpack(from, begin, end) for what the ticket did not carry, in order. Returns false if
  /// the sender died, or could not read its own data.
  template <class Unpack>
  bool fetch(Unpack&& unpack) const {
    return fetch_by(AtOnce<Unpack>{unpack});
  }
  /// Fetches likewise through a pipe that works on several ranges at a time, as in Outgoing::run().
  template <class Pipe>
  bool fetch_by(Pipe&& pipe) const {
    auto& s = slot();
    s.state.store(Slot::claimed, std::memory_order_release);
    const auto n = chunks_of(s, slot_);
    Patience patience;
    const auto tell = [&] { s.read.store(pipe.ended(), std::memory_order_release); };
    for (std::uint64_t i = 0; i < n; ++i) {
      while (s.written.load(std::memory_order_acquire) <= i) {
        tell();
        if (s.packed.load(std::memory_order_acquire) == Slot::failed) {
          discard();
          return false;
        }
        patience.wait();
        if (patience.doubts() && !sender_->alive()) return false;
      }
      patience.rest();
      const auto begin = shm::carried(s, slot_) + static_cast<std::int64_t>(i) * chunk_of(s);
      pipe.begin(sender_->data() + s.region + place_of(s, i, s.turned.load(std::memory_order_relaxed)), begin,
                 std::min(begin + chunk_of(s), s.size));
      tell();
    }
    while (pipe.ended() < n) tell();
    discard();
    return true;
  }
  /// The sender's ring of data from a GPU's memory. It exists once there is a chunk in it.
  std::span<char> gpu_ring() const { return {sender_->data() + slot().region, shm::gpu_ring(slot().size)}; }
  /// Tells the sender that this process wants nothing, or no more.
  void discard() const { slot().state.store(Slot::done, std::memory_order_release); }

 private:
  Slot& slot() const { return sender_->slot(slot_); }

  const Memory* sender_;
  std::uint32_t slot_;
};

}  // namespace dunnage::transport::shm
