#include "mpi/neighbours/all.hpp"

#include <bit>
#include <map>

#include "device/driver.hpp"
#include "mpi/neighbours/messages.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {

/// What is kept with a communicator for these collectives. All ranks have the same, but for the
/// neighbourhoods.
struct AllRanks {
  struct Kind {
    unsigned calls = 0;  // that may wait for all ranks
    bool ours = false;
  };
  Neighbourhood hood;                               // of collectives without a root
  std::map<int, Neighbourhood> to_root, from_root;  // by the root, and sharing the messages of `hood`
  unsigned calls = 0;                               // before `gpus`
  bool gpus = false;                                // a rank has loaded the driver
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

/// Of a collective with a root: this rank and the root are neighbours.
Neighbourhood& star_of(AllRanks& all, MPI_Comm comm, Hook hook, int root) {
  const bool to_root = gathers(hook);
  const auto [place, fresh] = (to_root ? all.to_root : all.from_root).try_emplace(root);
  auto& star = place->second;
  if (fresh) {
    star.possible = true;
    star.operations = all.hood.operations;
    (to_root ? star.targets : star.sources).push_back({root, 0});
    const auto& self = all.hood.targets[all.hood.loops.front().target];
    if (self.peer == root) (to_root ? star.sources : star.targets) = all.hood.targets;
    pair_loops(comm, star);
  }
  star.messages = all.hood.messages;
  return star;
}

/// Null if the call is not ours. Then all ranks get null.
Neighbourhood* hood_of(AllRanks* all, MPI_Comm comm, Hook hook, const AllKind& kind) {
  if (!all || !all->hood.possible) return nullptr;
  if (!kind.has_root()) return &all->hood;
  const auto ranks = static_cast<int>(all->hood.targets.size());
  return kind.root >= 0 && kind.root < ranks ? &star_of(*all, comm, hook, kind.root) : nullptr;
}

}  // namespace

AllCall::AllCall(Hook hook, MPI_Comm comm, const AllKind& kind)
    : AllCall(hook, comm, kind, kind.collective == AllKind::Collective::none ? nullptr : all_ranks_of(comm)) {}

AllCall::AllCall(Hook hook, MPI_Comm comm, const AllKind& kind, AllRanks* all)
    : ExchangeCall(hook, comm, hood_of(all, comm, hook, kind)), all_(all), kind_(kind.number()) {}

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
  ours = somewhere[1] && (all_->hood.messages || make_message_comm(all_->hood, comm()));
  hood()->messages = all_->hood.messages;
  return ours;
}

bool AllCall::agreed_before() const {
  if (!hood() || !hood()->messages) return false;
  const auto found = all_->kinds.find(kind_);
  return found != all_->kinds.end() && found->second.ours;
}

}  // namespace dunnage::mpi
