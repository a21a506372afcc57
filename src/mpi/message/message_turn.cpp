#include "mpi/message/message_turn.hpp"

#include "mpi/message/buffer.hpp"

namespace dunnage::mpi {

using plan::Operation;
using plan::Packer;

MessageTurn::MessageTurn(plan::PackTrial& trial, Tells lasts) {
  switch (lasts) {
    case Tells::all:
      turn_ = trial.next();
      packer_ = turn_.packer;
      if (!turn_.measured) return;
      trial_ = &trial;
      start_ = process->exchanges.now();
      return;
    case Tells::exchange: {
      auto [packer, message] = process->exchanges.begin(trial);
      packer_ = packer;
      message_ = std::move(message);
      return;
    }
    case Tells::nothing:
      if (trial.settled()) packer_ = trial.choice();
      return;
  }
}

namespace {

plan::PackTrial* find_trial(Hook hook, Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                            int peer) {
  if (peer == MPI_PROC_NULL || count <= 0) return nullptr;
  const auto* known = known_type(type);
  if (!known || known->reason() != plan::Reason::accelerated) return nullptr;
  // The setting asks for tickets, and a trial might leave them out.
  if (operation == Operation::send && process->settings.tickets == base::Tickets::always) return nullptr;
  try {
    const auto* variant = known->find(count);
    auto* trial = variant ? trial_of(hook, operation, *variant) : trial_of(hook, operation, known->plan(count));
    return trial && !on_device(static_cast<const char*>(buffer) + known->layout().data.offset) ? trial : nullptr;
  } catch (const std::exception&) {
    return nullptr;  // too large, or no memory: the call finds out again
  }
}

}  // namespace

MessageTurn turn_of(Hook hook, Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                    int peer) {
  if (has_turns_at_starts(hook)) return {};
  auto* trial = find_trial(hook, operation, buffer, count, type, peer);
  return trial ? MessageTurn(*trial, tells(hook)) : MessageTurn();
}

plan::PackTrial* trial_at_starts(Hook hook, Operation operation, const void* buffer, std::int64_t count,
                                 MPI_Datatype type, int peer) {
  return has_turns_at_starts(hook) ? find_trial(hook, operation, buffer, count, type, peer) : nullptr;
}

}  // namespace dunnage::mpi
