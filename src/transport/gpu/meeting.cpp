#include "transport/gpu/meeting.hpp"

#include <new>

namespace dunnage::transport::gpu {

Meeting::Meeting(void* own, std::uint32_t rank, std::vector<const Seat*> seats)
    : own_(static_cast<Seat*>(own)), rank_(rank), seats_(std::move(seats)) {
  seats_[rank_] = own_;
}

bool Meeting::may_announce() const {
  return all([&](const Seat& seat) { return seat.seen.load(std::memory_order_acquire) >= call_; });
}

std::uint64_t Meeting::announce(const std::optional<ReductionOffer>& offer) {
  ++call_;
  if (offer) own_->offer = *offer;
  own_->announced.store(2 * call_ + (offer ? 0 : 1), std::memory_order_release);
  return call_;
}

bool Meeting::all_announced() const {
  return all([&](const Seat& seat) { return seat.announced.load(std::memory_order_acquire) >= 2 * call_; });
}

std::vector<ReductionOffer> Meeting::take_offers() {
  std::vector<ReductionOffer> offers;
  for (const auto* seat : seats_) {
    // No rank is ahead: it waits until this one has seen the offers.
    const bool offered = seat->announced.load(std::memory_order_acquire) == 2 * call_;
    if (!offered || (!offers.empty() && !offers.front().fits(seat->offer))) {
      offers.clear();
      break;
    }
    offers.push_back(seat->offer);
  }
  own_->seen.store(call_, std::memory_order_release);
  return offers;
}

bool Meeting::has_reduced(std::uint32_t rank) const {
  return seats_[rank]->reduced.load(std::memory_order_acquire) >= call_;
}

bool Meeting::has_failed(std::uint32_t rank) const {
  return seats_[rank]->failed.load(std::memory_order_relaxed) == call_;
}

bool Meeting::any_has_failed() const {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    if (rank != rank_ && has_reduced(rank) && has_failed(rank)) return true;
  return false;
}

bool Meeting::all_finished() const {
  return all([&](const Seat& seat) { return seat.finished.load(std::memory_order_acquire) >= call_; });
}

}  // namespace dunnage::transport::gpu
