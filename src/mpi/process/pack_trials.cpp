#include "mpi/process/pack_trials.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/siphash.hpp"
#include "pack/cpu/program.hpp"
#include "transport/peers/world.hpp"

namespace dunnage::mpi {
namespace {

using plan::Operation;
using plan::Packer;

std::unique_ptr<plan::PackTrial> call_trial_of(const plan::Shape& shape, Operation operation,
                                               const plan::Model& model) {
  const bool message = plan::is_message(operation);
  if (!plan::may_pack(model, shape, operation) || !plan::may_leave(shape, operation)) return nullptr;
  // A message's staging memory has no choice of stores.
  const bool may_stream = shape.streamed && !message;
  const bool accelerated = plan::choose(model, shape, operation) == plan::Reason::accelerated;
  const auto predicted = !accelerated ? Packer::library : may_stream ? Packer::streamed : Packer::cached;
  const auto& rules = message ? plan::message_rules : plan::packing_rules;
  return std::make_unique<plan::PackTrial>(predicted, may_stream, rules);
}

/// Only where a gain is predicted: by packing, or because a ticket lets both sides work at a time.
/// To measure exchanges costs time, and few blocks gain little.
/// `bytes`: the most that data of that kind have.
std::unique_ptr<plan::ExchangeTrial> exchange_trial_of(const plan::Shape& shape, Operation operation,
                                                       const plan::Model& model, std::int64_t bytes) {
  if (operation != Operation::send && operation != Operation::receive) return nullptr;
  const bool packs = plan::choose(model, shape, operation) == plan::Reason::accelerated &&
                     plan::may_gain_nonblocking(model, shape, operation);
  const bool by_ticket = operation == Operation::send && plan::choose_ticket(model, shape);
  if (!plan::may_pack(model, shape, operation) || !plan::may_leave(shape, operation) || !(packs || by_ticket))
    return nullptr;
  const auto first = plan::gains_much(model, shape, operation) ? Packer::cached : Packer::library;
  return std::make_unique<plan::ExchangeTrial>(first, bytes);
}

/// Under which name a rank tells what it has found in such a trial. Not 0.
std::uint64_t name_of(const plan::DataKind& kind, Operation operation, bool exchanges) {
  const auto text = fmt::format("{} {} {} {} {} {} {}", kind.kernel, kind.block, kind.size, kind.spread, kind.mixed,
                                static_cast<int>(operation), exchanges);
  const auto name = base::siphash({0, 4}, text);
  return name != 0 ? name : 1;
}

/// The other rank of a message may be in a trial of either sort. What buffers a message does not
/// depend on the other rank.
void tell_others(plan::Chooser& trial, const plan::DataKind& kind, Operation operation, bool exchanges,
                 const transport::peers::World* world) {
  if (!world || (operation != Operation::send && operation != Operation::receive)) return;
  const auto other = operation == Operation::receive ? Operation::send : Operation::receive;
  trial.tell_in(world->take_choice(name_of(kind, operation, exchanges)),
                {name_of(kind, other, exchanges), name_of(kind, other, !exchanges)});
}

}  // namespace

PackTrials::Trials PackTrials::of(const pack::Program& program, bool mixed, bool messages, const plan::Model& model,
                                  const transport::peers::World* world) {
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
      found->second.calls[i] = call_trial_of(shape, operation, model);
      found->second.exchanges[i] = exchange_trial_of(shape, operation, model, found->first.most());
      if (auto* trial = found->second.calls[i].get()) tell_others(*trial, found->first, operation, false, world);
      if (auto* trial = found->second.exchanges[i].get()) tell_others(*trial, found->first, operation, true, world);
    }
  }
  Trials trials;
  const auto get = [](const auto& owned) { return owned.get(); };
  std::ranges::transform(found->second.calls, trials.calls.begin(), get);
  std::ranges::transform(found->second.exchanges, trials.exchanges.begin(), get);
  return trials;
}

void PackTrials::tell_no_more() {
  const std::lock_guard lock(mutex_);
  for (auto& [kind, trials] : kinds_) {
    for (auto& trial : trials.calls)
      if (trial) trial->tell_in(nullptr, {});
    for (auto& trial : trials.exchanges)
      if (trial) trial->tell_in(nullptr, {});
  }
}

std::vector<PackTrials::Told> PackTrials::told() const {
  const std::lock_guard lock(mutex_);
  std::vector<Told> all;
  for (const auto& [kind, trials] : kinds_)
    for (std::size_t i = 0; i < plan::operations; ++i) {
      const auto tell = [&](const auto& trial, bool exchanges) {
        if (!trial) return;
        const auto found = trial->found();
        if (std::ranges::all_of(found.nanoseconds, [](double time) { return time == 0; })) return;
        all.push_back({kind, static_cast<Operation>(i), exchanges, found});
      };
      tell(trials.calls[i], false);
      tell(trials.exchanges[i], true);
    }
  return all;
}

}  // namespace dunnage::mpi
