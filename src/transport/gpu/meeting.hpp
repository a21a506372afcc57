// A meeting: the ranks of a communicator, all on one host, tell each other for each call where
// their data in device memory are, and how far they have come.
//
// Every rank has a seat in its shared memory, which it alone writes and all others read. Calls are
// numbered from 1 on, by all ranks alike. A rank announces each call, with an offer or without
// one. If one rank makes no offer, all ranks see that. So all ranks know for each call whether they
// do it this way, and no rank can wait for another that has gone another way.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/exported.hpp"

namespace dunnage::transport::gpu {

/// What a rank offers for a call. Plain bytes.
struct ReductionOffer {
  device::Exported input, result;    // result: unused if others do not read it
  std::int64_t input_at, result_at;  // from the beginning of the allocation
  std::int64_t count;                // elements
  std::uint32_t kind, root;          // which call it is
  std::uint32_t element, operation;  // what is done
  std::uint32_t in_place;            // the data are where the result goes
  std::uint32_t handshake;           // a HandshakeOffer
  /// device::identity_of the rank's GPU, if its kernels wait for those of other processes there.
  /// Told by ranks of several hosts.
  std::uint64_t gpu;
  /// Whether two ranks are in the same call.
  bool fits(const ReductionOffer& other) const {
    return count == other.count && kind == other.kind && root == other.root && element == other.element &&
           operation == other.operation;
  }
};

/// Whether a rank can take part in a handshake (pack/cuda/reduction.hpp) in a call.
enum HandshakeOffer : std::uint32_t { no_handshake, narrow_handshake, wide_handshake };  // wide: by chunks

/// Where others write for the handshakes of a rank. Plain bytes.
struct ReductionSlots {
  device::Exported memory;
  std::int64_t at;       // from the beginning of the allocation
  std::uint64_t gpu;     // device::identity_of the rank's GPU
  std::uint64_t blocks;  // that surely run at once there
};

/// All numbers grow. Each is the last call for which something is true.
struct Seat {
  std::atomic<std::uint64_t> announced{0};            // 2k: with an offer; 2k + 1: without one
  std::atomic<std::uint64_t> seen{0};                 // this rank has read all offers
  ReductionOffer offer{};                             // of the last call that was announced
  ReductionSlots slots{};                             // there since before the first offer with a handshake
  alignas(64) std::atomic<std::uint64_t> reduced{0};  // this rank's part is where others read it
  std::atomic<std::uint64_t> failed{0};               // or will never be there
  std::atomic<std::uint64_t> finished{0};             // this rank reads no other's data any more
};

/// The meeting as one rank sees it. Not thread-safe.
class Meeting {
 public:
  /// `own`: memory for this rank's seat, which others read. `seats`: of all ranks; null for this
  /// rank.
  Meeting(void* own, std::uint32_t rank, std::vector<const Seat*> seats);

  std::uint32_t rank() const { return rank_; }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(seats_.size()); }

  /// Before the first offer with a handshake.
  void tell_slots(const ReductionSlots& slots) { own_->slots = slots; }
  /// Of a rank that has made such an offer.
  const ReductionSlots& slots_of(std::uint32_t rank) const { return seats_[rank]->slots; }

  /// Whether all ranks have read the offers of the last call, so that this one may be announced.
  bool may_announce() const;
  /// Begins the next call. Returns its number.
  std::uint64_t announce(const std::optional<ReductionOffer>& offer);
  bool all_announced() const;
  /// After all_announced(): the offers of all ranks, empty if one of them has none or they are in
  /// different calls. Others may begin the next call from then on.
  std::vector<ReductionOffer> take_offers();

  // This rank tells, and asks about others, in the call that was announced last.
  void reduced() { own_->reduced.store(call_, std::memory_order_release); }
  /// This rank's part will not come.
  void fail() { own_->failed.store(call_, std::memory_order_relaxed), reduced(); }
  void finished() { own_->finished.store(call_, std::memory_order_release); }
  bool has_reduced(std::uint32_t rank) const;
  /// After has_reduced().
  bool has_failed(std::uint32_t rank) const;
  /// Whether the part of another rank will not come.
  bool any_has_failed() const;
  bool all_finished() const;

 private:
  template <class F>
  bool all(F&& f) const {
    for (std::uint32_t rank = 0; rank < ranks(); ++rank)
      if (rank != rank_ && !f(*seats_[rank])) return false;
    return true;
  }

  Seat* const own_;
  const std::uint32_t rank_;
  std::vector<const Seat*> seats_;
  std::uint64_t call_ = 0;
};

}  // namespace dunnage::transport::gpu
