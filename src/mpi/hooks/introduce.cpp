#include "mpi/hooks/introduce.hpp"

#include <unistd.h>

#include <cstring>

#include "base/hash.hpp"
#include "device/driver.hpp"
#include "mpi/broadcast/bcast_group.hpp"
#include "mpi/process/private_world.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::mpi {
namespace {

/// This value of DUNNAGE_ROSTER turns rosters off.
constexpr const char* no_roster = "none";

/// Whether anything depends on all ranks having Dunnage, and a roster may exist.
bool asks_roster() {
  const auto& settings = process->settings;
  const bool depends = settings.bcast == base::Bcast::automatic || settings.neighbours == base::Neighbours::automatic ||
                       settings.collectives == base::Collectives::automatic ||
                       settings.partitioned == base::Partitioned::automatic;
  return depends && settings.force != base::Force::never && settings.roster != no_roster;
}

/// Whether that of `dunnage run` does.
bool asks_server() { return asks_roster() && !process->settings.roster.empty(); }

/// A number in which ranks differ if they would not do the same operations themselves: by their
/// settings, or because one of them has no kernels for its device.
std::uint64_t what_must_be_alike(bool blind) {
  constexpr std::uint64_t more_than_values = 16;
  std::uint64_t number = blind;
  for (const auto value :
       {static_cast<std::uint64_t>(process->settings.bcast), static_cast<std::uint64_t>(process->settings.neighbours),
        static_cast<std::uint64_t>(process->settings.collectives),
        static_cast<std::uint64_t>(process->settings.partitioned)})
    number = number * more_than_values + value;
  return number;
}

/// Ranks of one job and one user that can reach each other's memory have it in common. Returns 0 if
/// nobody knows the job.
std::uint64_t reach_key() {
  const auto job = transport::peers::job();
  const auto host = transport::peers::host_key();
  return job ? base::hash(std::to_string(*job) + ' ' + std::to_string(host) + ' ' + std::to_string(geteuid())) : 0;
}

transport::Member member(const Introduced& self, bool blind) {
  transport::Member member{transport::peers::world_key(self.ranks), self.rank, self.ranks, what_must_be_alike(blind)};
  member.wants = private_world_wants() | (foreign_gpus() ? wants_foreign_gpus : 0);
  member.host = reach_key();
  if (self.world && transport::shm::others_can_map()) {
    const auto where = self.world->peers.whereabouts();
    member.place = {where.process, where.file};
  }
  static_assert(sizeof process->model.bcast <= sizeof member.words);
  std::memcpy(member.words.data(), &process->model.bcast, sizeof process->model.bcast);
  return member;
}

}  // namespace

std::unique_ptr<transport::peers::World> join_host(std::uint32_t rank, std::uint32_t ranks) {
  // Nobody looks for the memory of a rank alone, which may have no launcher.
  const auto job = ranks > 1 ? transport::peers::job() : static_cast<std::uint64_t>(getpid());
  return job ? transport::peers::World::join({*job, rank, ranks}, process->settings.ticket_memory,
                                             process->settings.staging_pool)
             : nullptr;
}

bool announces(bool blind) {
  return !blind && process->settings.force != base::Force::never && process->settings.tickets != base::Tickets::off;
}

Introduced introduce(std::uint32_t rank, std::uint32_t ranks, bool blind, bool spawned) {
  Introduced introduced{rank, ranks, announces(blind) ? join_host(rank, ranks) : nullptr, {}, {}};
  introduced.self = member(introduced, blind);
  if (asks_server() && !spawned)
    introduced.roster.emplace(process->settings.roster, introduced.self, transport::peers::machine_key());
  return introduced;
}

std::optional<Introduced> introduce_early() {
  const auto who = transport::peers::rank_told();
  // The MPI may load a driver that makes this process blind.
  if (!who || who->ranks < 2 || !asks_server() || device::may_lack_kernels()) return std::nullopt;
  return introduce(who->rank, who->ranks, false, false);
}

std::optional<transport::HostRoster> join_host_roster() {
  const auto ranks = transport::peers::ranks_told().value_or(1);
  if (ranks < 2 || !asks_roster() || asks_server()) return std::nullopt;
  const auto host = transport::peers::alone_on_host(ranks) ? reach_key() : 0;
  return host != 0 ? transport::HostRoster::join(host, ranks) : std::nullopt;
}

}  // namespace dunnage::mpi
