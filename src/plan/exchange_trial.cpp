#include "plan/exchange_trial.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "plan/random_bit.hpp"

namespace dunnage::plan {
namespace {

/// Longer than a usual exchange of messages of so many bytes takes, by some factor. A power of two:
/// ranks whose messages are of nearly one size must take one length.
std::int64_t slice_for(std::int64_t bytes) {
  constexpr std::int64_t messages = 4, call = 1000, bytes_a_nanosecond = 4, factor = 8;
  const auto least = factor * messages * (call + std::min(bytes, std::int64_t{1} << 30) / bytes_a_nanosecond);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

}  // namespace

ExchangeTrial::ExchangeTrial(Packer first, std::int64_t bytes)
    : Chooser(first), first_(first), first_slice_(slice_for(bytes)), slice_(first_slice_) {
  pause_before_trial();
}

void ExchangeTrial::pause_before_trial() { left_.store(first_messages, std::memory_order_relaxed); }

double ExchangeTrial::Candidate::ranked(int rank) const {
  const auto n = std::min(taken, samples);
  if (n == 0) return 0;
  auto sorted = times;
  const auto place = sorted.begin() + std::min(rank, n - 1);
  std::nth_element(sorted.begin(), place, sorted.begin() + n);
  return *place;
}

ExchangeTrial::Turn ExchangeTrial::next(std::int64_t now) {
  const auto unmeasured = [&] { return Turn{choice(), false, 0, now}; };
  if (pause()) return unmeasured();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || asks()) return unmeasured();
  if (phase_ == Phase::settled) return {choice(), true, trial_, now};
  const auto packer = packer_at(now);
  if (looks_ > 0) return {packer, packer != Packer::library, trial_, now};
  // The other side may need more exchanges of a candidate that has enough here.
  return {packer, !of(packer).enough(), trial_, now};
}

Packer ExchangeTrial::packer_at(std::int64_t now) const {
  const auto slice = static_cast<std::uint64_t>(now / slice_);
  return random_bit(slice / 2) == (slice % 2 == 0) ? Packer::library : Packer::cached;
}

bool ExchangeTrial::began_together(std::int64_t begin) const { return begin % slice_ >= slice_ / 8; }

bool ExchangeTrial::counts(std::int64_t begin, std::int64_t end) const {
  return began_together(begin) && begin / slice_ == end / slice_;
}

void ExchangeTrial::take_try(const Turn& turn, std::int64_t now, double time) {
  if (counts(turn.begin, now)) of(turn.packer).add(time);
  if (turn.packer != Packer::library) least_of_ours_ = ours_begun_++ == 0 ? time : std::min(least_of_ours_, time);
  if (clearly_gains() || clearly_loses() || (library_.enough() && ours_.enough())) return conclude();
  // An exchange that is shorter than others of its size has many in a slice.
  if (++exchanges_ % most_exchanges != 0 || (library_.taken + ours_.taken) * 2 > exchanges_) return;
  if (++lengths_ > most_lengths) return conclude();
  begin_slices(slice_ * longer);
}

void ExchangeTrial::begin_slices(std::int64_t length) {
  slice_ = length;
  exchanges_ = ours_begun_ = 0;
  library_ = ours_ = {};
}

void ExchangeTrial::begin_phase(Phase phase) {
  phase_ = phase;
  lengths_ = 1;
  begin_slices(first_slice_);
}

bool ExchangeTrial::clearly_gains() const {
  return std::min(library_.taken, ours_.taken) >= clear_samples &&
         std::ranges::min(library_.all()) > clear_gain * std::ranges::max(ours_.all());
}

bool ExchangeTrial::clearly_loses() const {
  if (ours_begun_ < enough_to_lose || library_.taken < 2) return false;
  if (least_of_ours_ > hopeless * library_.usual()) return true;
  return library_.taken >= clear_samples && ours_.taken >= 2 &&
         least_of_ours_ > clear_loss * std::ranges::max(library_.all());
}

void ExchangeTrial::conclude() {
  const bool both = library_.taken > 0 && ours_.taken > 0;
  const bool gains = both && least_gain * ours_.usual() < library_.usual();
  const bool loses = clearly_loses() || (both && least_loss * library_.usual() < ours_.usual());
  if (!gains) return settle(Packer::library, loses);
  looks_ = looks;
  mixed_ = 0;
  choose(Packer::cached, true, 0);
  library_then_ = library_;
  ours_then_ = ours_;
  hopes_.store(clear_gain * ours_.usual() < library_.usual(), std::memory_order_relaxed);
}

void ExchangeTrial::take_look(const Turn& turn, double time) {
  if (turn.packer == Packer::library) return;  // another thread has begun it before
  if (began_together(turn.begin)) mixed_ = time > mixed * library_.median() ? mixed_ + 1 : 0;
  if (mixed_ >= most_mixed) return settle(Packer::library, true);
  if (--looks_ > 0) return;
  if (phase_ == Phase::trying_again) return settle(Packer::cached, true);
  begin_phase(Phase::trying_again);
  left_.store(between_trials, std::memory_order_relaxed);
}

void ExchangeTrial::hear(Told other) {
  if (other != Told::ours) return;
  const std::lock_guard lock(mutex_);
  if (!hopes()) return;
  library_ = library_then_;  // a second trial may have begun
  ours_ = ours_then_;
  settle(Packer::cached, true);
}

void ExchangeTrial::settle(Packer packer, bool clearly) {
  phase_ = Phase::settled;
  hopes_.store(false, std::memory_order_relaxed);
  others_ = looks_ = 0;
  choose(packer, clearly, least_pause);
  settled_.store(true, std::memory_order_relaxed);
}

void ExchangeTrial::begin_again() {
  begin_phase(Phase::trying);
  lost_ = others_ = 0;
  ++trial_;
  forget_choice(first_);
  settled_.store(false, std::memory_order_relaxed);
  pause_before_trial();
}

void ExchangeTrial::took(const Turn& turn, std::int64_t now, double nanoseconds) {
  const std::lock_guard lock(mutex_);
  if (turn.trial != trial_) return;
  lost_ = 0;
  if (looks_ > 0) return take_look(turn, nanoseconds);
  switch (phase_) {
    case Phase::trying:
    case Phase::trying_again: return take_try(turn, now, nanoseconds);
    case Phase::settled: break;
  }
  const auto known = of(choice()).median();
  const bool another = nanoseconds > otherwise * known || nanoseconds * otherwise < known;
  others_ = another ? others_ + 1 : 0;
  if (others_ >= 2) return begin_again();
  left_.store(least_pause, std::memory_order_relaxed);
}

void ExchangeTrial::lost(const Turn& turn) {
  const std::lock_guard lock(mutex_);
  if (turn.trial != trial_ || ++lost_ < most_lost) return;
  lost_ = 0;
  left_.store(rest, std::memory_order_relaxed);
}

void ExchangeTrial::follow(const Found& other) {
  const std::lock_guard lock(mutex_);
  if (phase_ == Phase::settled && !follows_) return;
  follows_ = true;
  library_ = ours_ = {};
  for (const auto packer : {Packer::library, Packer::cached})
    if (const auto time = other.nanoseconds[static_cast<std::size_t>(packer)]; time > 0) of(packer).add(time);
  settle(other.choice, true);
  left_.store(std::numeric_limits<std::int32_t>::max(), std::memory_order_relaxed);
}

ExchangeTrial::Found ExchangeTrial::found() const {
  const std::lock_guard lock(mutex_);
  Found found{choice(), settled(), {}};
  found.nanoseconds[static_cast<std::size_t>(Packer::library)] = library_.usual();
  found.nanoseconds[static_cast<std::size_t>(Packer::cached)] = ours_.usual();
  return found;
}

}  // namespace dunnage::plan
