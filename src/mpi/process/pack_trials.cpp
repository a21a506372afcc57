#include "mpi/process/pack_trials.hpp"

#include <algorithm>

#include <unistd.h>

#include "pack/cpu/program.hpp"

namespace dunnage::mpi {
namespace {

using plan::Operation;
using plan::Packer;

/// Ranks that start together must not try their candidates in one order.
std::uint32_t seed(std::uint32_t trial) { return trial + 7919 * static_cast<std::uint32_t>(getpid()); }

const plan::TrialRules& rules_of(Operation operation, bool exchanges) {
  return exchanges ? plan::exchange_rules : plan::is_message(operation) ? plan::message_rules : plan::packing_rules;
}

std::unique_ptr<plan::PackTrial> trial_of(const plan::Shape& shape, Operation operation, bool exchanges,
                                          const plan::Model& model, std::uint32_t number) {
  const bool message = plan::is_message(operation);
  if (!plan::may_pack(model, shape, operation) || !plan::may_leave(shape, operation)) return nullptr;
  // A message's staging memory has no choice of stores.
  const bool may_stream = shape.streamed && !message;
  const bool accelerated = plan::choose(model, shape, operation) == plan::Reason::accelerated;
  const auto predicted = !accelerated ? Packer::library : may_stream ? Packer::streamed : Packer::cached;
  return std::make_unique<plan::PackTrial>(predicted, may_stream, rules_of(operation, exchanges), seed(number));
}

}  // namespace

PackTrials::Trials PackTrials::of(const pack::Program& program, bool mixed, bool messages, const plan::Model& model) {
  if (program.size() == 0) return {};
  const plan::Shape shape{program.size(), program.blocks(), program.stores() == pack::Stores::streamed, mixed};
  auto kind = plan::kind_of(program.kernel(), shape, program.span());
  const std::lock_guard lock(mutex_);
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    if (kinds_.size() == most) return {};
    found = kinds_.emplace(std::move(kind), Owned{}).first;
    for (std::size_t i = 0; i < plan::operations; ++i) {
      const auto operation = static_cast<Operation>(i);
      if (plan::is_message(operation) && !messages) continue;
      found->second.calls[i] = trial_of(shape, operation, false, model, ++made_);
      if (operation == Operation::send || operation == Operation::receive)
        found->second.exchanges[i] = trial_of(shape, operation, true, model, ++made_);
    }
  }
  Trials trials;
  const auto get = [](const auto& owned) { return owned.get(); };
  std::ranges::transform(found->second.calls, trials.calls.begin(), get);
  std::ranges::transform(found->second.exchanges, trials.exchanges.begin(), get);
  return trials;
}

std::vector<PackTrials::Told> PackTrials::told() const {
  const std::lock_guard lock(mutex_);
  std::vector<Told> all;
  for (const auto& [kind, trials] : kinds_)
    for (const bool exchanges : {false, true})
      for (std::size_t i = 0; i < plan::operations; ++i) {
        const auto& trial = exchanges ? trials.exchanges[i] : trials.calls[i];
        if (!trial) continue;
        const auto found = trial->found();
        if (std::ranges::all_of(found.nanoseconds, [](double time) { return time == 0; })) continue;
        all.push_back({kind, static_cast<Operation>(i), exchanges, found});
      }
  return all;
}

}  // namespace dunnage::mpi
