// The sender's end of one operation: it packs chunks into its own shared memory.
//
// The sender never depends on the receiver. While the receiver is at work, the chunks go round a
// small ring, which stays in the caches. If the receiver has not come yet, the sender soon gives
// each further chunk a place of its own, packs all the data, and is done.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "transport/shm/at_once.hpp"
#include "transport/shm/memory.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::transport::shm {

/// A handle: copies name the same operation. Not thread-safe.
class Outgoing {
 public:
  /// Names no operation.
  Outgoing() = default;
  Outgoing(const Memory* own, const Memory* receiver, std::uint32_t slot)
      : own_(own), receiver_(receiver), slot_(slot), serial_(this->slot().serial) {}

  /// Whether it names an operation. All other members need one.
  explicit operator bool() const { return own_ != nullptr; }
  /// Bytes of the whole data.
  std::int64_t size() const { return slot().size; }
  /// Bytes of the message that announces the operation.
  std::int64_t length() const { return length_of(slot(), slot_); }
  /// Bytes of the data that travel in that message.
  std::int64_t carried() const { return shm::carried(slot(), slot_); }
  /// The token that the message begins with. Returns 0 if the message is a ticket.
  std::uint64_t token() const { return slot().kind == Slot::token ? slot().name : 0; }
  Ticket ticket() const {
    return {Ticket::known_magic,
            slot().serial,
            slot().size,
            own_->header().rank,
            slot().receiver,
            slot_,
            slot().gpu ? Ticket::gpu : Ticket::shared_memory,
            {}};
  }
  /// Packs what the ticket does not carry: calls pack(to, begin, end) with ranges of the data.
  /// Returns when all is packed, or when the receiver wants no more. `patient`: waits a little for
  /// a receiver that has not come yet. Calls let_go_on() again and again, so that the ticket can
  /// travel meanwhile.
  template <class Pack, class LetGoOn>
  void run(bool patient, Pack&& pack, LetGoOn&& let_go_on) const {
    run(AtOnce<Pack>{pack}, patient, let_go_on);
  }
  /// Packs likewise through a pipe that works on several ranges at a time. pipe.begin(to, begin,
  /// end) starts a range. pipe.ended() returns how many ranges are done, in order.
  template <class Pipe, class LetGoOn>
  void run(Pipe&& pipe, bool patient, LetGoOn&& let_go_on) const {
    auto& s = slot();
    const auto n = chunks_of(s, slot_);
    std::uint64_t turned = n, begun = 0;
    const auto tell = [&] { s.written.store(pipe.ended(), std::memory_order_release); };
    for (std::uint64_t i = 0; i < n; ++i) {
      const auto go_on = [&] {
        tell();
        let_go_on();
      };
      if (turned == n && !room(s, i, patient, go_on)) {
        turned = i;
        s.turned.store(turned, std::memory_order_relaxed);  // the receiver reads it after `written`
      }
      if (s.state.load(std::memory_order_relaxed) == Slot::done) break;
      const auto begin = shm::carried(s, slot_) + static_cast<std::int64_t>(i) * chunk_of(s);
      pipe.begin(own_->data() + s.region + place_of(s, i, turned), begin, std::min(begin + chunk_of(s), s.size));
      ++begun;
      go_on();
    }
    while (pipe.ended() < begun) tell();
    tell();
    s.packed.store(Slot::yes, std::memory_order_release);
  }
  /// Ends an operation that no message announces. Nothing may be packing its data.
  void cancel() const {
    if (slot().serial != serial_) return;  // the receiver had it, and the slot has another operation
    slot().packed.store(Slot::yes, std::memory_order_release);
    if (slot().state.exchange(Slot::done, std::memory_order_acq_rel) == Slot::offered && token())
      receiver_->header().tokens.fetch_sub(1);
  }

  // The rest is for data in a GPU's memory, which the receiver's GPU reads where they are.
  /// The receiver may begin.
  void ready() const { slot().ready.store(1, std::memory_order_release); }
  /// Waits until the receiver has all the data, or has died; returns true then. Returns false if
  /// the receiver does not begin in time. Calls let_go_on() again and again.
  template <class LetGoOn>
  bool await(std::chrono::nanoseconds patience_with_receiver, LetGoOn&& let_go_on) const {
    auto& s = slot();
    Patience patience;
    for (const auto end = std::chrono::steady_clock::now() + patience_with_receiver;
         s.state.load(std::memory_order_acquire) != Slot::done;) {
      patience.wait();
      let_go_on();
      if (s.mover.load(std::memory_order_relaxed) == Slot::nobody && std::chrono::steady_clock::now() >= end)
        return false;
      if (patience.doubts() && !receiver_->alive()) break;
    }
    s.packed.store(Slot::yes, std::memory_order_release);
    return true;
  }
  /// Claims the data for the sender, which will pack them into shared memory:
  /// Rendezvous::make_room() has made room there. Returns false if the receiver has begun to read
  /// the data.
  bool take_over() const {
    auto nobody = std::uint32_t{Slot::nobody};
    return slot().mover.compare_exchange_strong(nobody, Slot::sender_host);
  }
  /// Claims the data for the sender before any message announces the operation.
  void pack_always() const { slot().mover.store(Slot::sender_host, std::memory_order_relaxed); }
  /// The ring in shared memory.
  std::span<char> gpu_ring() const { return {own_->data() + slot().region, shm::gpu_ring(slot().size)}; }
  /// Tells the receiver that the data could not be packed.
  void fail() const { slot().packed.store(Slot::failed, std::memory_order_release); }

 private:
  friend class Slots;
  Slot& slot() const { return own_->slot(slot_); }

  /// Whether chunk `i` fits the ring, or soon will.
  template <class LetGoOn>
  bool room(const Slot& s, std::uint64_t i, bool patient, LetGoOn&& let_go_on) const {
    const auto fits = [&] { return i - s.read.load(std::memory_order_acquire) < ring_of(s); };
    if (fits()) return true;
    for (Patience patience;;) {
      patience.wait();
      let_go_on();
      if (fits() || s.state.load(std::memory_order_relaxed) == Slot::done) return true;
      if (s.state.load(std::memory_order_relaxed) != Slot::claimed && (!patient || patience.long_enough()))
        return false;
      if (patience.doubts() && !receiver_->alive()) return false;
    }
  }

  const Memory* own_ = nullptr;
  const Memory* receiver_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint64_t serial_ = 0;
};

}  // namespace dunnage::transport::shm
