#include "mpi/hooks/init.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/cores.hpp"
#include "base/machine.hpp"
#include "device/driver.hpp"
#include "mpi/broadcast/ibcast.hpp"
#include "mpi/hooks/introduce.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/request.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/process/types.hpp"
#include "pack/cpu/helpers.hpp"
#include "transport/peers/job.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

// From before MPI_Init.
std::optional<Introduced> introduced;
std::optional<transport::HostRoster> host_roster;

/// From now on messages of this process to itself may be announced.
void take_announcements() {
  learn_predefined_sizes();
  process->brief = device::driver() != nullptr;
  process->takes_tokens = process->brief;
  process->tickets_from = process->brief ? transport::token_size : transport::host_lengths.least;
}

/// And messages of other ranks of this host.
void take_announcements_of(std::unique_ptr<transport::peers::World> world, std::uint32_t ranks) {
  if (!world) return;
  process->several_hosts = ranks > 1 && !transport::peers::alone_on_host(ranks);
  process->world = std::move(world);
  if (process->brief) process->world->take_brief();
}

/// Whether ranks of this host that wait should leave their cores to others. `ranks`: of the job,
/// which may be on many hosts, so a launcher that does not tell decides nothing.
bool crowded(std::uint32_t ranks) {
  using base::Wait;
  const auto how = process->settings.wait;
  if (how != Wait::automatic) return how == Wait::yield;
  const auto here = transport::peers::ranks_on_host(ranks);
  return here && static_cast<int>(*here) > base::this_machine().cores;
}

/// How many threads may help this process to pack. The ranks of a host share its cores, and no
/// thread runs on a core that the launcher has given to another rank.
int helpers_allowed(std::uint32_t ranks) {
  const auto here = transport::peers::ranks_on_host(ranks).value_or(ranks);
  const int share = base::cores_of(getppid()) / static_cast<int>(std::max(here, 1u));
  return std::min({process->settings.threads, share, base::cores_of(0)}) - 1;
}

/// Spawned processes have no roster of their own.
bool is_spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  return process->own.Comm_get_parent(&parent) != MPI_SUCCESS || parent != MPI_COMM_NULL;
}

/// What all ranks have told each other by a roster, if it knows all. `among_us`: the one of this
/// host, if there is one.
std::optional<transport::Told> meet(std::uint32_t rank, std::uint32_t ranks, bool blind,
                                    std::optional<transport::HostRoster> among_us) {
  if (process->settings.force == base::Force::never) return std::nullopt;
  const bool spawned = (among_us || !process->settings.roster.empty()) && is_spawned();
  if (!introduced) introduced.emplace(introduce(rank, ranks, blind, spawned));
  take_announcements_of(std::move(introduced->world), ranks);
  auto own = std::exchange(introduced, std::nullopt);
  if (spawned) return std::nullopt;
  return own->roster ? own->roster->answer() : among_us ? among_us->answer(own->self) : std::nullopt;
}

void share(const std::optional<transport::Told>& told, int ranks) {
  if (!told || told->places.empty()) return share_memory(ranks);
  plan::BcastFigures figures;
  std::memcpy(static_cast<void*>(&figures), told->words.data(), sizeof figures);
  share_memory(figures, told->places, (told->wants & wants_foreign_gpus) != 0);
}

}  // namespace

void prepare() {
  if (process->initialized || introduced || host_roster) return;
  introduced = introduce_early();
  if (!introduced) host_roster = join_host_roster();
}

void give_up() {
  introduced.reset();
  host_roster.reset();
}

void join() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto among_us = std::exchange(host_roster, std::nullopt);
    const auto& own = process->own;
    int rank = 0, ranks = 0;
    device::settle_driver();
    if (own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
      return;
    process->rank = rank;
    if (one_thread_at_a_time()) {
      process->exchanges.one_thread_at_a_time();
      process->requests.one_thread_at_a_time();
      special_requests.one_thread_at_a_time();
    }
    const auto self = static_cast<std::uint32_t>(rank), all = static_cast<std::uint32_t>(ranks);
    if (introduced && (introduced->rank != self || introduced->ranks != all)) introduced.reset();
    // Without kernels the host would have to touch device memory that an announcement is received
    // into.
    const bool blind = !device::driver() && device::driver_without_kernels();
    if (announces(blind)) take_announcements();
    transport::shm::Patience::set_crowded(crowded(all));
    if (process->settings.threads > 1) pack::helpers().allow(helpers_allowed(all));
    process->alone = ranks == 1;
    if (process->alone) {
      if (process->brief) take_announcements_of(join_host(self, all), all);
      return make_private_world(private_world_wants());
    }
    const auto told = meet(self, all, blind, std::move(among_us));
    process->everyone = told.has_value();
    if (Broadcast::possible() || process->settings.collectives == base::Collectives::on) share(told, ranks);
    make_private_world(told && told->together ? std::optional(told->wants) : std::nullopt);
  });
}

}  // namespace dunnage::mpi
