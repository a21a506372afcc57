// Whose turn a message of host memory is, the MPI's or ours, and how long the message takes.
#pragma once

#include <optional>

#include "mpi/process/other_side.hpp"
#include "mpi/process/types.hpp"
#include "plan/exchange_timer.hpp"

namespace dunnage::mpi {

/// What the time of a call tells about its message.
enum class Tells : std::uint8_t {
  all,       // the call lasts as long as the message, or buffers it
  exchange,  // the message goes on after the call
  nothing,   // the message follows what other calls have found
};
constexpr Tells tells(Hook hook) {
  switch (hook) {
    case Hook::MPI_Send:
    case Hook::MPI_Send_c:
    case Hook::MPI_Bsend:
    case Hook::MPI_Bsend_c:
    case Hook::MPI_Ibsend:
    case Hook::MPI_Ibsend_c:
    case Hook::MPI_Ssend:
    case Hook::MPI_Ssend_c:
    case Hook::MPI_Rsend:
    case Hook::MPI_Rsend_c:
    case Hook::MPI_Recv:
    case Hook::MPI_Recv_c: return Tells::all;
    case Hook::MPI_Isend:
    case Hook::MPI_Isend_c:
    case Hook::MPI_Issend:
    case Hook::MPI_Issend_c:
    case Hook::MPI_Irsend:
    case Hook::MPI_Irsend_c:
    case Hook::MPI_Irecv:
    case Hook::MPI_Irecv_c:
    case Hook::MPI_Sendrecv:
    case Hook::MPI_Sendrecv_c: return Tells::exchange;
    default: return Tells::nothing;
  }
}
/// Of persistent requests. Each start has a turn of its own.
constexpr bool has_turns_at_starts(Hook hook) {
  switch (hook) {
    case Hook::MPI_Send_init:
    case Hook::MPI_Send_init_c:
    case Hook::MPI_Ssend_init:
    case Hook::MPI_Ssend_init_c:
    case Hook::MPI_Rsend_init:
    case Hook::MPI_Rsend_init_c:
    case Hook::MPI_Recv_init:
    case Hook::MPI_Recv_init_c: return true;
    default: return false;
  }
}

/// Whether such a message goes on after its call, or is one of two messages of a call.
constexpr bool in_exchange(Hook hook) { return tells(hook) == Tells::exchange || has_turns_at_starts(hook); }

/// The trial that says who packs such a message. Null if there is none.
inline plan::Chooser* trial_of(Hook hook, plan::Operation operation, const Variant& variant) {
  if (in_exchange(hook)) return variant.exchange_trial(operation);
  return variant.trial(operation);
}
/// Whether such a message is left to the MPI whatever the model says.
inline bool gains_too_little(Hook hook, plan::Operation operation, const Variant& variant) {
  return in_exchange(hook) && variant.leaves_nonblocking[static_cast<std::size_t>(operation)];
}

/// Of one message. Empty if no trial is about the message: then the model says who packs it.
class MessageTurn {
 public:
  MessageTurn() = default;
  /// It is that packer's turn, and nothing is measured.
  explicit MessageTurn(plan::Packer packer) : packer_(packer) {}
  /// Asks the trial of a message that goes on after its call.
  explicit MessageTurn(plan::ExchangeTrial& trial);
  /// Asks the trial of any other message, whose time the call tells. `number`: of the message.
  MessageTurn(plan::PackTrial& trial, std::uint32_t number);

  explicit operator bool() const { return packer_.has_value(); }
  bool is_librarys() const { return packer_ == plan::Packer::library; }
  bool is_ours() const { return packer_ && !is_librarys(); }
  /// Whether the other rank may do something else than this one. Then agree() is to be called. What
  /// is measured in a trial that has not ended tells by its time what the other rank does.
  bool may_differ(const plan::Chooser& trial) const {
    if (message_ || (trial_ && !trial.settled())) return false;
    return is_ours() || (is_librarys() && trial.asks());
  }
  /// Does as the other rank of the message, of whose trial this turn is. Costs some loads.
  void agree(plan::Chooser& trial, const OtherSide& other);
  /// Whether a trial of exchanges has chosen the MPI for such messages.
  bool is_chosen_librarys() const { return is_librarys() && chosen_ && !left_; }
  /// Whether it is the MPI's because of the other rank.
  bool is_left() const { return left_; }

  /// The call has ended with this code. If the message goes on after the call, nothing happens.
  void ended(int code) {
    if (!trial_ || code != MPI_SUCCESS) return;
    trial_->took(turn_, static_cast<double>(process->exchanges.now() - start_));
  }
  /// Whether the end of the message must be seen.
  bool is_measured() const { return static_cast<bool>(message_); }
  /// The message goes on after the call. Empty if it is not measured.
  plan::ExchangeTimer::Message take_message() { return std::move(message_); }
  /// Neither who packs nor how long it takes is what the trial wants to know.
  void give_up() {
    message_.give_up();
    if (trial_) trial_->lost(turn_);
    *this = {};
  }

 private:
  std::optional<plan::Packer> packer_;
  bool left_ = false, chosen_ = false;
  plan::PackTrial* trial_ = nullptr;  // if the call is measured
  plan::PackTrial::Turn turn_{};
  std::int64_t start_ = 0;  // nanoseconds
  plan::ExchangeTimer::Message message_;
};

/// The turn of a message that is about to begin. The time from here counts.
MessageTurn turn_of(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                    int peer, MPI_Comm comm);

/// The turn of a message that goes on after its call, or at a start of a persistent one.
MessageTurn turn_of(plan::ExchangeTrial& trial, const OtherSide& other);

/// The trial that says at each start who packs a persistent message of host memory. Null without
/// one.
plan::ExchangeTrial* trial_at_starts(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count,
                                     MPI_Datatype type, int peer);

/// To be alive in each call that may move messages while an exchange is measured.
class InExchange {
 public:
  InExchange() : call_(process->exchanges) {}

 private:
  const plan::ExchangeTimer::Call call_;
};

}  // namespace dunnage::mpi
