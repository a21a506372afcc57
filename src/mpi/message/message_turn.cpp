#include "mpi/message/message_turn.hpp"

#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

using plan::Operation;
using plan::Packer;

MessageTurn::MessageTurn(plan::ExchangeTrial& trial) {
  auto [packer, message] = process->exchanges.begin(trial);
  packer_ = packer;
  message_ = std::move(message);
}

MessageTurn::MessageTurn(plan::PackTrial& trial, Tells lasts) {
  if (lasts == Tells::nothing) {
    if (trial.settled()) packer_ = trial.choice();
    return;
  }
  turn_ = trial.next();
  packer_ = turn_.packer;
  if (!turn_.measured) return;
  trial_ = &trial;
  start_ = process->exchanges.now();
}

namespace {

struct TrialsOfMessage {
  plan::PackTrial* calls = nullptr;
  plan::ExchangeTrial* exchanges = nullptr;
};

TrialsOfMessage find_trials(Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type, int peer) {
  if (peer == MPI_PROC_NULL || count <= 0) return {};
  const auto* known = known_type(type);
  if (!known || known->reason() != plan::Reason::accelerated) return {};
  // The setting asks for tickets, and a trial might leave them out.
  if (operation == Operation::send && process->settings.tickets == base::Tickets::always) return {};
  try {
    const auto trials_of = [&](const Variant& variant) {
      return TrialsOfMessage{variant.trial(operation), variant.exchange_trial(operation)};
    };
    const auto* variant = known->find(count);
    const auto trials = variant ? trials_of(*variant) : trials_of(known->plan(count));
    const bool some = trials.calls || trials.exchanges;
    return some && !on_device(static_cast<const char*>(buffer) + known->layout().data.offset) ? trials
                                                                                              : TrialsOfMessage{};
  } catch (const std::exception&) {
    return {};  // too large, or no memory: the call finds out again
  }
}

}  // namespace

MessageTurn turn_of(Hook hook, Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                    int peer) {
  if (has_turns_at_starts(hook)) return {};
  const auto [calls, exchanges] = find_trials(operation, buffer, count, type, peer);
  if (in_exchange(hook)) return exchanges ? MessageTurn(*exchanges) : MessageTurn();
  return calls ? MessageTurn(*calls, tells(hook)) : MessageTurn();
}

plan::ExchangeTrial* trial_at_starts(Hook hook, Operation operation, const void* buffer, std::int64_t count,
                                     MPI_Datatype type, int peer) {
  return has_turns_at_starts(hook) ? find_trials(operation, buffer, count, type, peer).exchanges : nullptr;
}

}  // namespace dunnage::mpi
