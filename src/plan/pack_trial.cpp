#include "plan/pack_trial.hpp"

#include <algorithm>
#include <limits>

#include "plan/random_bit.hpp"

namespace dunnage::plan {

/// A packing call's time is all its own. The first calls also pay for what an MPI sets up once.
const TrialRules packing_rules{5, 1.03, true, 60, {{{1, 8}, {2, 2}}}, {2, 1.1}, 2, false};
/// A message's time depends on the other side, which may be late. So nobody is behind before all
/// have been measured. A call that is left to the MPI goes a shorter way.
const TrialRules message_rules{9, 1.03, true, 150, {{{3, 4}, {3, 4}}}, {9, 1.1}, 4, true};

double PackTrial::median(const Candidate& candidate) const {
  auto sorted = candidate.times;
  const auto n = std::min(candidate.taken, rules_.samples);
  if (n == 0) return 0;
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.begin() + n);
  return sorted[static_cast<std::size_t>(n / 2)];
}

double PackTrial::least(const Candidate& candidate) const {
  const auto n = std::min(candidate.taken, rules_.samples);
  const auto begin = candidate.times.begin();
  return n == 0 ? std::numeric_limits<double>::max() : *std::min_element(begin, begin + n);
}

double PackTrial::greatest(const Candidate& candidate) const {
  const auto n = std::min(candidate.taken, rules_.samples);
  return *std::max_element(candidate.times.begin(), candidate.times.begin() + std::max(n, 1));
}

PackTrial::PackTrial(Packer predicted, bool may_stream, const TrialRules& rules)
    : Chooser(predicted), rules_(rules), favourite_(rules.favours_library ? Packer::library : predicted) {
  candidates_.push_back({predicted});
  for (const auto packer : {Packer::library, Packer::cached, Packer::streamed})
    if (packer != predicted && (packer != Packer::streamed || may_stream)) candidates_.push_back({packer});
}

PackTrial::Candidate* PackTrial::find(Packer packer) {
  const auto found =
      std::find_if(candidates_.begin(), candidates_.end(), [&](const auto& c) { return c.packer == packer; });
  return found == candidates_.end() ? nullptr : &*found;
}

/// Each round begins with another candidate. What one candidate leaves in the caches may help the
/// next one.
void PackTrial::begin_round() {
  const auto n = candidates_.size();
  for (std::size_t i = n; i-- > 0;) {
    const auto& candidate = candidates_[(i + static_cast<std::size_t>(round_)) % n];
    // The other side of a message no longer tries another candidate.
    const bool wanted = !rules_.by_number || candidate.packer == choice();
    if (has_turns(candidate) && wanted) turns_.push_back(candidate.packer);
  }
  ++round_;
}

bool PackTrial::enough() const {
  const auto contends = [&](const auto& c) { return has_turns(c); };
  const bool alone = std::ranges::count_if(candidates_, contends) == 1;
  const auto calls = alone ? rules_.behind.calls : rules_.samples;
  return std::ranges::all_of(candidates_, [&](const auto& c) { return !contends(c) || c.taken >= calls; });
}

/// Whether a message is the MPI's in a trial. Of two messages each candidate has one, in an order
/// that looks random, because programs have periods.
bool PackTrial::librarys(std::uint32_t number) { return random_bit(number / 2) == (number % 2 == 0); }

/// The trial has not ended. A candidate with enough samples has its turns all the same,
/// because the other side may need more.
PackTrial::Turn PackTrial::next_by_number(std::uint32_t number) {
  if (enough() && !readmit()) {
    settle();
    return {choice(), false, 0};
  }
  const auto wanted = [&](const Candidate& one) { return (one.packer == Packer::library) == librarys(number); };
  auto candidate = std::ranges::find_if(candidates_, wanted);
  if (candidate == candidates_.end() || !has_turns(*candidate))
    candidate = std::ranges::find_if(candidates_, [&](const auto& one) { return has_turns(one); });
  return {candidate->packer, candidate->taken < rules_.samples, trial_};
}

PackTrial::Turn PackTrial::next(std::uint32_t number) {
  if (pause()) return {choice_.load(std::memory_order_relaxed), false, 0};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {choice_.load(std::memory_order_relaxed), false, 0};
  if (looks_ > 0) return {choice(), true, trial_, number};
  if (asks()) return {choice(), false, trial_};
  if (rules_.by_number && !settled_) return next_by_number(number);
  std::erase_if(turns_, [&](const auto packer) { return !has_turns(*find(packer)); });
  if (turns_.empty()) {
    if (enough() && !settled_ && !readmit()) {
      settle();
      return {choice_.load(std::memory_order_relaxed), false, 0};
    }
    begin_round();
  }
  const auto packer = turns_.back();
  turns_.pop_back();
  // After the last call of a round of a settled trial comes the next pause.
  if (settled_ && turns_.empty()) settle();
  return {packer, true, trial_, number};
}

PackTrial::Turn PackTrial::agree(Turn turn, Told other) {
  if (!turn.measured) return {Chooser::agree(turn.packer, other), false, turn.trial};
  const std::lock_guard lock(mutex_);
  if (other == Told::ours || (other == Told::nothing && !librarys(turn.number))) return turn;
  // A look that tells nothing about what both ranks have chosen.
  if (other == Told::library && looks_ > 0 && --looks_ == 0) left_.store(pause_, std::memory_order_relaxed);
  return {Packer::library, false, turn.trial};
}

void PackTrial::took(Turn turn, double nanoseconds) {
  const std::lock_guard lock(mutex_);
  auto* candidate = find(turn.packer);
  if (!candidate || turn.trial != trial_) return;
  lost_ = 0;
  const bool ours = turn.packer != Packer::library;
  const auto time = nanoseconds + (ours ? rules_.own_call : 0);
  if (looks_ > 0) return look(turn, time);
  double best_before = std::numeric_limits<double>::max();
  for (const auto& other : candidates_) best_before = std::min(best_before, least(other));
  if (settled_ && turn.packer == choice_.load(std::memory_order_relaxed)) {
    const auto known = median(*candidate);
    const bool another = time > rules_.otherwise * known || time * rules_.otherwise < known;
    others_ = another ? others_ + 1 : 0;
    if (others_ >= 2) return begin_again();
  }
  if (candidate->began) candidate->taken = 0;  // the first call has paid for the first touch of the pages
  candidate->began = std::ranges::all_of(candidates_, [](const auto& c) { return c.taken == 0; });
  candidate->times[static_cast<std::size_t>(candidate->taken++ % rules_.samples)] = time;
  if (settled_) return;
  for (const auto& [calls, factor] : rules_.hopeless)
    if (candidate->taken == calls && least(*candidate) > factor * best_before) candidate->out = true;
  const auto [calls, factor] = rules_.behind;
  for (auto& one : candidates_)
    for (const auto& other : candidates_)
      if (std::min(one.taken, other.taken) >= calls && least(one) > factor * greatest(other)) one.behind = true;
}

void PackTrial::look(Turn turn, double time) {
  if (turn.packer == Packer::library) return;  // another thread has begun it before
  const auto librarys = median(*find(Packer::library));
  mixed_ = librarys > 0 && time > mixed * librarys ? mixed_ + 1 : 0;
  if (mixed_ >= most_mixed) {
    choose(Packer::library, true, pause_);
    looks_ = 1;
  }
  if (--looks_ == 0) left_.store(pause_, std::memory_order_relaxed);
}

void PackTrial::lost(Turn turn) {
  const std::lock_guard lock(mutex_);
  if (turn.trial != trial_ || ++lost_ < most_lost) return;
  lost_ = 0;
  left_.store(rest, std::memory_order_relaxed);
}

/// Takes back each candidate that has left, or waits, although its time is less than the median of
/// every other. The calls by which it was judged were then faster than usual, for example because
/// the caches had the data. Returns whether there was one.
bool PackTrial::readmit() {
  double best = std::numeric_limits<double>::max();
  for (const auto& candidate : candidates_)
    if (has_turns(candidate)) best = std::min(best, median(candidate));
  bool any = false;
  for (auto& candidate : candidates_) {
    if (has_turns(candidate) || least(candidate) >= best) continue;
    candidate.out = candidate.behind = false;
    any = true;
  }
  return any;
}

void PackTrial::settle() {
  // Ranks that have agreed about messages do not part again for little.
  const auto* favourite = find(settled_ && rules_.by_number ? choice() : favourite_);
  const Candidate* best = favourite->out ? nullptr : favourite;
  for (const auto& candidate : candidates_) {
    if (candidate.out || &candidate == favourite) continue;
    const auto gain = best == favourite ? rules_.least_gain : 1.0;
    if (!best || gain * median(candidate) < median(*best)) best = &candidate;
  }
  double loss = 0;  // of a round of later measurements
  for (const auto& candidate : candidates_)
    if (!candidate.out) loss += std::max(median(candidate) - median(*best), 0.0) + rules_.own_call;
  const auto pause = loss / (most_loss * std::max(median(*best), 1.0));
  pause_ = static_cast<std::int32_t>(std::clamp(pause, double{least_pause}, 1e9));
  if (rules_.by_number && !settled_ && best->packer != Packer::library) {
    looks_ = looks;
    mixed_ = 0;
  }
  const bool clearly = std::ranges::all_of(candidates_, [&](const auto& candidate) {
    return &candidate == best || candidate.out || rules_.least_gain * median(*best) < median(candidate);
  });
  choose(best->packer, clearly || settled_, looks_ > 0 ? 0 : pause_);
  settled_ = true;
}

void PackTrial::begin_again() {
  for (auto& candidate : candidates_) candidate = {candidate.packer};
  turns_.clear();
  round_ = others_ = lost_ = looks_ = 0;
  settled_ = false;
  forget_choice(choice());
  ++trial_;
  left_.store(0, std::memory_order_relaxed);
}

PackTrial::Found PackTrial::found() const {
  const std::lock_guard lock(mutex_);
  Found found{choice(), settled(), {}};
  for (const auto& candidate : candidates_)
    found.nanoseconds[static_cast<std::size_t>(candidate.packer)] = median(candidate);
  return found;
}

}  // namespace dunnage::plan
