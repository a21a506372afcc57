#include "plan/exchange_timer.hpp"

namespace dunnage::plan {

namespace {

const void* this_thread() {
  static thread_local const char place = 0;
  return &place;
}

}  // namespace

ExchangeTimer::Turn ExchangeTimer::begin(PackTrial& trial) {
  if (!open()) {
    const auto turn = trial.next();
    if (!turn.measured) return {turn.packer, {}};
    const std::lock_guard lock(mutex_);
    if (open()) return {turn.packer, {}};  // another thread was faster
    if (++last_ == 0) ++last_;
    trial_ = &trial;
    turn_ = turn;
    thread_ = this_thread();
    messages_ = under_way_ = 1;
    others_ = 0;
    well_ = in_call_ = true;
    time_ = 0;
    since_ = clock_();
    open_.store(last_, std::memory_order_relaxed);
    return {turn.packer, Message(*this, last_)};
  }
  const std::lock_guard lock(mutex_);
  if (!open()) return {trial.choice(), {}};  // another thread has ended it
  if (&trial == trial_ && thread_ == this_thread()) {
    ++messages_;
    ++under_way_;
    return {turn_.packer, Message(*this, last_)};
  }
  if (&trial == trial_) well_ = false;
  if (++others_ > most_others) {
    well_ = false;
    close();
  }
  return {trial.choice(), {}};
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
  if (well_)
    trial_->took(turn_, static_cast<double>(time_) / messages_);
  else
    trial_->lost(turn_);
}

}  // namespace dunnage::plan
