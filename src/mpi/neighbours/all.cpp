#include "mpi/neighbours/all.hpp"

#include <bit>
#include <map>

#include "device/driver.hpp"
#include "mpi/neighbours/messages.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {

/// What is kept with a communicator for these collectives. All ranks have the same, but for `hood`.
struct AllRanks {
  struct Kind {
    unsigned calls = 0;  // that may wait for all ranks
    bool ours = false;
  };
  Neighbourhood hood;
  unsigned calls = 0;  // before `gpus`
  bool gpus = false;   // a rank has loaded the driver
  std::map<std::uint64_t, Kind> kinds;
};

namespace {

Attribute<AllRanks> all_ranks;

AllRanks* all_ranks_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return nullptr;
  AllRanks* all = nullptr;
  if (!all_ranks.find(comm, all) || all) return all;
  auto fresh = std::make_unique<AllRanks>();
  int between = 0;
  if (process->own.Comm_test_inter(comm, &between) != MPI_SUCCESS) return nullptr;
  auto& hood = fresh->hood;
  hood.possible = !between && all_in_this_world(comm);
  if (hood.possible)
    for (int rank = 0; rank < members(comm); ++rank) hood.targets.push_back({rank, 0});
  hood.sources = hood.targets;
  pair_loops(comm, hood);
  return all_ranks.put(comm, std::move(fresh));
}

}  // namespace

AllCall::AllCall(Hook hook, MPI_Comm comm, std::uint64_t kind)
    : AllCall(hook, comm, kind, kind == no_kind ? nullptr : all_ranks_of(comm)) {}

AllCall::AllCall(Hook hook, MPI_Comm comm, std::uint64_t kind, AllRanks* all)
    : ExchangeCall(hook, comm, all && all->hood.possible ? &all->hood : nullptr), all_(all), kind_(kind) {}

std::uint64_t AllCall::kind(Collective collective, std::int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (type != MPI_DATATYPE_NULL && process->own.Type_size_x(type, &size) != MPI_SUCCESS) size = 0;
  const auto bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
  constexpr std::uint64_t more_than_widths = 128;
  return static_cast<std::uint64_t>(collective) * more_than_widths + static_cast<std::uint64_t>(std::bit_width(bytes));
}

Turn AllCall::next_turn() {
  if (!all_->gpus) return std::has_single_bit(++all_->calls) ? Turn::asked : Turn::theirs;
  auto& kind = all_->kinds[kind_];
  if (std::has_single_bit(++kind.calls)) return Turn::asked;
  return kind.ours ? Turn::ours : Turn::theirs;
}

bool AllCall::asked(const Edges& edges) {
  const int here[] = {device::driver() != nullptr, in_device_memory(edges)};
  int somewhere[] = {0, 0};
  if (process->own.Allreduce(here, somewhere, 2, MPI_INT, MPI_MAX, comm()) != MPI_SUCCESS) return false;
  all_->gpus = all_->gpus || somewhere[0];
  auto& ours = all_->kinds[kind_].ours;
  ours = somewhere[1] && (hood()->messages || make_message_comm(*hood(), comm()));
  return ours;
}

bool AllCall::agreed_before() const {
  if (!hood() || !hood()->messages) return false;
  const auto found = all_->kinds.find(kind_);
  return found != all_->kinds.end() && found->second.ours;
}

}  // namespace dunnage::mpi
