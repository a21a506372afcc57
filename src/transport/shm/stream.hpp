// The two ends of one operation: the sender packs chunks into its shared memory, the receiver unpacks them from there.
//
// The sender never depends on the receiver. While that is at work the chunks go round a small ring, which stays in the caches;
// where it is not there yet, the sender soon goes on to chunks with places of their own, packs all there is, and is done.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "transport/shm/memory.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::transport::shm {

/// One range at a time, each done when begin() returns.
template <class F>
struct AtOnce {
  F& f;
  std::uint64_t done = 0;
  template <class Memory>
  void begin(Memory* memory, std::int64_t begin, std::int64_t end) {
    f(memory, begin, end);
    ++done;
  }
  std::uint64_t ended() const { return done; }
};

/// The sender's end.
class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(const Memory* own, const Memory* receiver, std::uint32_t slot) : own_(own), receiver_(receiver), slot_(slot), serial_(this->slot().serial) {}

  explicit operator bool() const { return own_ != nullptr; }
  std::int64_t size() const { return slot().size; }
  /// Of the ticket, and how much of the data it carries.
  std::int64_t length() const { return length_of(slot(), slot_); }
  std::int64_t carried() const { return shm::carried(slot(), slot_); }
  /// What the message begins with, where it is a token; else 0.
  std::uint64_t token() const { return slot().kind == Slot::token ? slot().name : 0; }
  Ticket ticket() const {
    return {Ticket::known_magic, slot().serial, slot().size, own_->greeting().rank, slot().receiver, slot_, slot().gpu ? Ticket::gpu : Ticket::shared_memory, {}, 0};
  }
  /// Packs what the ticket does not carry: calls pack(to, begin, end) with ranges of the data. Returns when all is packed, or the
  /// receiver wants no more. `patient`: waits a little for a receiver that is not there yet. `let_go_on()` is called all the
  /// time, for what the ticket itself needs.
  template <class Pack, class LetGoOn>
  void run(bool patient, Pack&& pack, LetGoOn&& let_go_on) const {
    run(AtOnce<Pack>{pack}, patient, let_go_on);
  }
  /// The same by someone who is at several ranges at a time: begin(memory, begin, end) takes one up, ended() is how many of them have
  /// come to their ends, in order.
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
        s.turned.store(turned, std::memory_order_relaxed);  // seen with the chunk
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
  /// Nobody will receive it, and nothing is being packed.
  void cancel() const {
    if (slot().serial != serial_) return;  // received, and the slot is another's
    slot().packed.store(Slot::yes, std::memory_order_release);
    if (slot().state.exchange(Slot::done, std::memory_order_acq_rel) == Slot::offered && token()) receiver_->greeting().tokens.fetch_sub(1);
  }

  // Of data in a GPU's memory, which the receiver's GPU reads where they are.
  /// The receiver may begin.
  void ready() const { slot().ready.store(1, std::memory_order_release); }
  /// Waits for the receiver to have it all; true then. False where it does not begin.
  template <class LetGoOn>
  bool await(std::chrono::nanoseconds patience_with_receiver, LetGoOn&& let_go_on) const {
    auto& s = slot();
    Patience patience;
    for (const auto end = std::chrono::steady_clock::now() + patience_with_receiver; s.state.load(std::memory_order_acquire) != Slot::done;) {
      patience.wait();
      let_go_on();
      if (s.mover.load(std::memory_order_relaxed) == Slot::nobody && std::chrono::steady_clock::now() >= end) return false;
      if (patience.doubts() && !receiver_->alive()) break;
    }
    s.packed.store(Slot::yes, std::memory_order_release);
    return true;
  }
  /// The data will be packed into shared memory, where World::make_room() has made room; false where the receiver has begun to read them.
  bool take_over() const {
    auto nobody = std::uint32_t{Slot::nobody};
    return slot().mover.compare_exchange_strong(nobody, Slot::sender_host);
  }
  /// Nobody reads them there: they are packed into shared memory.
  void pack_always() const { slot().mover.store(Slot::sender_host, std::memory_order_relaxed); }
  std::span<char> gpu_ring() const { return {own_->data() + slot().region, shm::gpu_ring(slot().size)}; }
  /// They could not be packed.
  void fail() const { slot().packed.store(Slot::failed, std::memory_order_release); }

 private:
  friend class World;
  Slot& slot() const { return own_->greeting().slots[slot_]; }

  /// Whether chunk i fits the ring, or soon will.
  template <class LetGoOn>
  bool room(const Slot& s, std::uint64_t i, bool patient, LetGoOn&& let_go_on) const {
    const auto fits = [&] { return i - s.read.load(std::memory_order_acquire) < ring_of(s); };
    if (fits()) return true;
    for (Patience patience;;) {
      patience.wait();
      let_go_on();
      if (fits() || s.state.load(std::memory_order_relaxed) == Slot::done) return true;
      if (s.state.load(std::memory_order_relaxed) != Slot::claimed && (!patient || patience.long_enough())) return false;
      if (patience.doubts() && !receiver_->alive()) return false;
    }
  }

  const Memory* own_ = nullptr;
  const Memory* receiver_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint64_t serial_ = 0;
};

/// The receiver's end. Whoever has one must fetch or discard.
class Incoming {
 public:
  Incoming(const Memory* sender, std::uint32_t slot) : sender_(sender), slot_(slot) {}

  std::int64_t size() const { return slot().size; }
  std::int64_t carried() const { return shm::carried(slot(), slot_); }
  /// What a ticket would begin with, where a token came; else null.
  const unsigned char* head() const { return slot().kind == Slot::token ? sender_->greeting().heads[slot_] : nullptr; }
  /// Of data in a GPU's memory: whether it is for this process to get them from there, until discard(). Waits until they can be read. False where
  /// the sender packs them into shared memory, from where they are to be fetched, or has died.
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
  bool failed() const { return slot().packed.load(std::memory_order_acquire) == Slot::failed; }
  /// Calls unpack(from, begin, end) for what the ticket did not carry, in order. False where the sender died, or could not read its own data.
  template <class Unpack>
  bool fetch(Unpack&& unpack) const {
    return fetch_by(AtOnce<Unpack>{unpack});
  }
  /// The same by someone who is at several ranges at a time, as for Outgoing::run().
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
      pipe.begin(sender_->data() + s.region + place_of(s, i, s.turned.load(std::memory_order_relaxed)), begin, std::min(begin + chunk_of(s), s.size));
      tell();
    }
    while (pipe.ended() < n) tell();
    discard();
    return true;
  }
  /// Where the ring of such an operation stands, once there is a chunk in it: of data from a GPU's memory.
  std::span<char> gpu_ring() const { return {sender_->data() + slot().region, shm::gpu_ring(slot().size)}; }
  /// Wants nothing, or no more.
  void discard() const { slot().state.store(Slot::done, std::memory_order_release); }

 private:
  Slot& slot() const { return sender_->greeting().slots[slot_]; }

  const Memory* sender_;
  std::uint32_t slot_;
};

}  // namespace dunnage::transport::shm
