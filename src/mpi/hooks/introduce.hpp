// How this process makes itself known to the other ranks of its job: by shared memory that those
// of its host find, and by a roster, which tells whether all ranks have Dunnage. `dunnage run` has
// one. Without it, ranks that are all on one host keep a roster themselves.
#pragma once

#include <memory>
#include <optional>

#include "mpi/process/process.hpp"
#include "transport/host_roster.hpp"
#include "transport/introduction.hpp"

namespace dunnage::mpi {

struct Introduced {
  std::uint32_t rank, ranks;
  std::unique_ptr<transport::peers::World> world;  // null if this process takes no tickets
  transport::Member self;                          // what it says of itself
  std::optional<transport::Introduction> roster;   // nothing if there is no server to be asked
};

/// Among what ranks tell the roster that they want: this one uses GPUs that Dunnage does not know.
inline constexpr std::uint64_t wants_foreign_gpus = 256;

/// The shared memory of this process, and how it finds that of the job's other ranks. A rank alone
/// has channels to itself there. Null if there is none.
std::unique_ptr<transport::peers::World> join_host(std::uint32_t rank, std::uint32_t ranks);

/// Before MPI_Init: does it by what the launcher says, if there is a server. The answer then most
/// often comes while the MPI starts, and no rank waits for another one.
std::optional<Introduced> introduce_early();
/// Before MPI_Init, if there is no server: meets the other ranks, if all are on this host.
std::optional<transport::HostRoster> join_host_roster();
/// In MPI_Init. `blind`: there is a device, but there are no kernels for it. `spawned`: this
/// process has no roster of its own.
Introduced introduce(std::uint32_t rank, std::uint32_t ranks, bool blind, bool spawned);

/// Whether messages of this process may be announced.
bool announces(bool blind);

}  // namespace dunnage::mpi
