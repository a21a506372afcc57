#include "plan/exchange_timer.hpp"

#include <algorithm>
#include <mutex>

namespace dunnage::plan {

namespace {

const void* this_thread() {
  static thread_local const char place = 0;
  return &place;
}

}  // namespace

ExchangeTimer::Turn ExchangeTimer::begin(ExchangeTrial& trial) {
  if (!open()) {
    const auto now = clock_();
    const auto turn = trial.next(now);
    if (!turn.measured) return {turn.packer, {}};
    const std::lock_guard lock(mutex_);
    if (open()) return {turn.packer, {}};  // another thread was faster
    if (++last_ == 0) ++last_;
    trial_ = &trial;
    turn_ = turn;
    thread_ = this_thread();
    messages_ = under_way_ = 1;
    others_.clear();
    well_ = in_call_ = true;
    time_ = 0;
    since_ = now;
    open_.store(last_, std::memory_order_relaxed);
    return {turn.packer, Message(*this, last_)};
  }
  const std::lock_guard lock(mutex_);
  if (!open()) return {trial.choice(), {}};  // another thread has ended it
  if (thread_ != this_thread()) {
    if (&trial == trial_) well_ = false;
    return {trial.choice(), {}};
  }
  if (messages_ == most_messages) {
    well_ = false;
    close();
    return {trial.choice(), {}};
  }
  if (&trial != trial_ && std::find(others_.begin(), others_.end(), &trial) == others_.end()) others_.push_back(&trial);
  ++messages_;
  ++under_way_;
  return {turn_.packer, Message(*this, last_)};
}

void ExchangeTimer::call_begins() {
  const std::lock_guard lock(mutex_);
  if (!open() || thread_ != this_thread()) return;
  in_call_ = true;
  since_ = clock_();
}

void ExchangeTimer::call_ends() {
  const std::lock_guard lock(mutex_);
  if (!open() || thread_ != this_thread() || !in_call_) return;
  in_call_ = false;
  time_ += clock_() - since_;
  if (under_way_ == 0) close();
}

void ExchangeTimer::ended(std::uint32_t exchange, bool well) {
  const std::lock_guard lock(mutex_);
  if (open_.load(std::memory_order_relaxed) != exchange) return;  // the exchange was given up
  well_ = well_ && well && thread_ == this_thread();
  if (--under_way_ == 0 && !in_call_) close();
}

/// The mutex is locked.
void ExchangeTimer::close() {
  open_.store(0, std::memory_order_relaxed);
  if (!well_) return trial_->lost(turn_);
  trial_->took(turn_, clock_(), static_cast<double>(time_) / messages_);
  if (!trial_->settled()) return;
  const auto found = trial_->found();
  for (auto* other : others_) other->follow(found);
}

}  // namespace dunnage::plan
