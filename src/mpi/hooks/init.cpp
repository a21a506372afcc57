#include "mpi/hooks/init.hpp"

#include <mutex>

#include "device/driver.hpp"
#include "mpi/broadcast/ibcast.hpp"
#include "mpi/process/private_world.hpp"
#include "mpi/process/types.hpp"
#include "transport/bootstrap.hpp"
#include "transport/peers/job.hpp"

namespace dunnage::mpi {
namespace {

/// Whether all ranks have Dunnage, as far as anything depends on it.
bool everyone_is_here(const transport::Member& self) {
  MPI_Comm parent = MPI_COMM_NULL;
  // Spawned processes have no roster of their own.
  const auto& settings = process->settings;
  const bool asked = settings.bcast == base::Bcast::automatic || settings.neighbours == base::Neighbours::automatic ||
                     settings.collectives == base::Collectives::automatic ||
                     settings.partitioned == base::Partitioned::automatic;
  return asked && !settings.roster.empty() && process->own.Comm_get_parent(&parent) == MPI_SUCCESS &&
         parent == MPI_COMM_NULL && transport::everyone_is_here(settings.roster, self);
}

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

/// From now on messages of this process to itself may be announced.
void take_announcements() {
  learn_predefined_sizes();
  process->brief = device::driver() != nullptr;
  process->takes_tokens = process->brief;
  process->tickets_from = process->brief ? transport::token_size : transport::host_lengths.least;
}

/// And messages of other ranks of this host.
void join_host(const transport::Member& self) {
  const auto job = transport::peers::job();
  if (!job) return;
  process->several_hosts = !transport::peers::alone_on_host(self.ranks);
  process->world = transport::peers::World::join({*job, self.rank, self.ranks}, process->settings.ticket_memory,
                                                 process->settings.staging_pool, process->brief);
}

}  // namespace

void join() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto& own = process->own;
    const auto& settings = process->settings;
    int rank = 0, ranks = 0;
    if (own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS)
      return;
    process->rank = rank;
    // Without kernels the host would have to touch device memory that an announcement is received
    // into.
    const bool blind = !device::driver() && device::driver_without_kernels();
    const bool announces = !blind && settings.force != base::Force::never && settings.tickets != base::Tickets::off;
    if (announces) take_announcements();
    process->alone = ranks == 1;
    if (process->alone) return make_private_world();
    if (settings.force != base::Force::never) {
      const transport::Member self{transport::peers::world_key(), static_cast<std::uint32_t>(rank),
                                   static_cast<std::uint32_t>(ranks), what_must_be_alike(blind)};
      process->everyone = everyone_is_here(self);
      if (announces) join_host(self);
    }
    if (Broadcast::possible()) share_memory(ranks);
    make_private_world();
  });
}

}  // namespace dunnage::mpi
