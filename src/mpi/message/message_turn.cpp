#include "mpi/message/message_turn.hpp"

#include "mpi/message/buffer.hpp"
#include "mpi/process/message_numbers.hpp"

namespace dunnage::mpi {

using plan::Operation;
using plan::Packer;

MessageTurn::MessageTurn(plan::ExchangeTrial& trial) {
  auto [packer, message] = process->exchanges.begin(trial);
  packer_ = packer;
  chosen_ = trial.settled();
  message_ = std::move(message);
}

MessageTurn::MessageTurn(plan::PackTrial& trial, std::uint32_t number) {
  turn_ = trial.next(number);
  packer_ = turn_.packer;
  if (!turn_.measured) return;
  trial_ = &trial;
  start_ = process->exchanges.now();
}

void MessageTurn::agree(plan::Chooser& trial, const OtherSide& other) {
  const bool ours = is_ours();
  const auto told = told_by(other, trial);
  if (trial_) {
    turn_ = trial_->agree(turn_, told);
    packer_ = turn_.packer;
    if (!turn_.measured) trial_ = nullptr;
  } else {
    packer_ = trial.agree(*packer_, told);
  }
  left_ = ours && is_librarys() && told == plan::Chooser::Told::library;
}

namespace {

/// The trial that `trial_in` finds in the plan of a message. Null if the message has none.
template <class TrialIn>
auto find_trial(Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type, int peer,
                TrialIn trial_in) -> decltype(trial_in(std::declval<const Variant&>())) {
  if (peer == MPI_PROC_NULL || count <= 0) return nullptr;
  const auto* known = known_type(type);
  if (!known || known->reason() != plan::Reason::accelerated) return nullptr;
  // The setting asks for tickets, and a trial might leave them out.
  if (operation == Operation::send && process->settings.tickets == base::Tickets::always) return nullptr;
  try {
    const auto* variant = known->find(count);
    auto* trial = variant ? trial_in(*variant) : trial_in(known->plan(count));
    return trial && !on_device(static_cast<const char*>(buffer) + known->layout().data.offset) ? trial : nullptr;
  } catch (const std::exception&) {
    return nullptr;  // too large, or no memory: the call finds out again
  }
}

plan::ExchangeTrial* find_exchange_trial(Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                                         int peer) {
  return find_trial(operation, buffer, count, type, peer,
                    [&](const Variant& variant) { return variant.exchange_trial(operation); });
}

}  // namespace

MessageTurn turn_of(plan::ExchangeTrial& trial, const OtherSide& other) {
  if (trial.hopes()) trial.hear(told_by(other, trial));
  MessageTurn turn(trial);
  if (turn.may_differ(trial)) turn.agree(trial, other);
  return turn;
}

MessageTurn turn_of(Hook hook, Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type, int peer,
                    MPI_Comm comm) {
  if (has_turns_at_starts(hook)) return {};
  const auto bytes = [&] { return count * known_type(type)->bytes(); };
  const auto other = [&] { return OtherSide{peer, comm, bytes()}; };
  if (in_exchange(hook)) {
    auto* trial = find_exchange_trial(operation, buffer, count, type, peer);
    return trial ? turn_of(*trial, other()) : MessageTurn();
  }
  const auto agreed = [&](MessageTurn turn, plan::Chooser& trial) {
    if (turn.may_differ(trial)) turn.agree(trial, other());
    return turn;
  };
  auto* trial = find_trial(operation, buffer, count, type, peer,
                           [&](const Variant& variant) { return variant.trial(operation); });
  if (!trial) return {};
  if (tells(hook) == Tells::nothing)
    return trial->settled() ? agreed(MessageTurn(trial->choice()), *trial) : MessageTurn();
  if (trial->leaves_to_library()) return MessageTurn(Packer::library);
  static MessageNumbers numbers;
  return agreed({*trial, numbers.next(operation == Operation::send, peer, bytes())}, *trial);
}

plan::ExchangeTrial* trial_at_starts(Hook hook, Operation operation, const void* buffer, std::int64_t count,
                                     MPI_Datatype type, int peer) {
  return has_turns_at_starts(hook) ? find_exchange_trial(operation, buffer, count, type, peer) : nullptr;
}

}  // namespace dunnage::mpi
