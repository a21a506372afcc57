#include "mpi/process/pack_trials.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/format.hpp"
#include "pack/cpu/program.hpp"

namespace dunnage::mpi {

plan::PackTrial* PackTrials::of(const pack::Program& program, bool mixed, plan::Operation operation,
                                const plan::Model& model) {
  const auto size = program.size(), blocks = std::max<std::int64_t>(program.blocks(), 1);
  if (size == 0) return nullptr;
  const auto width = [](std::int64_t n) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))); };
  Kind kind{operation, program.kernel(), size / blocks, width(size - 1), width(program.span() / size), mixed};
  const std::lock_guard lock(mutex_);
  if (const auto found = kinds_.find(kind); found != kinds_.end()) return found->second;
  if (trials_.size() == most) return nullptr;
  const bool streamed = program.stores() == pack::Stores::streamed;
  const plan::Shape shape{size, program.blocks(), streamed, mixed};
  const auto predicted = plan::choose(model, shape, operation) != plan::Reason::accelerated ? plan::Packer::library
                         : streamed                                                         ? plan::Packer::streamed
                                                                                            : plan::Packer::cached;
  auto& made = trials_.emplace_back(std::piecewise_construct, std::tuple(kind), std::tuple(predicted, streamed));
  kinds_.emplace(std::move(kind), &made.second);
  return &made.second;
}

std::vector<PackTrials::Told> PackTrials::told() const {
  const std::lock_guard lock(mutex_);
  std::vector<Told> all;
  for (const auto& [kind, trial] : trials_)
    all.push_back({fmt::format("up to {}, blocks of {}, {}", base::format_bytes(std::uint64_t{1} << kind.size),
                               base::format_bytes(static_cast<std::uint64_t>(kind.block)), kind.kernel),
                   kind.operation, trial.found()});
  return all;
}

}  // namespace dunnage::mpi
