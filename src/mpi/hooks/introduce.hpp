// How this process makes itself known to the other ranks of its job: by shared memory that those
// of its host find, and by a roster, which tells whether all ranks have Dunnage. `dunnage run` has
// one. Without it, ranks that are all on one host keep one themselves.
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
  std::optional<transport::Introduction> roster;   // nothing if there is none to be asked
  std::optional<transport::HostRoster> host_roster;
  /// What all ranks have told. Returns nothing if a rank is missing, or nobody knows.
  std::optional<transport::Told> answer() {
    return roster ? roster->answer() : host_roster ? host_roster->answer() : std::nullopt;
  }
};

/// Among what ranks tell the roster that they want: this one uses GPUs that Dunnage does not know.
inline constexpr std::uint64_t wants_foreign_gpus = 256;

/// The shared memory of this process, and how it finds that of the job's other ranks. A rank alone
/// has channels to itself there. Null if there is none.
std::unique_ptr<transport::peers::World> join_host(std::uint32_t rank, std::uint32_t ranks);

/// Before MPI_Init: does it by what the launcher says, if there can be a roster. The answer then
/// most often comes while the MPI starts, and no rank waits for another one.
std::optional<Introduced> introduce_early();
/// In MPI_Init. `blind`: there is a device, but there are no kernels for it. `spawned`: this
/// process has no roster of its own.
Introduced introduce(std::uint32_t rank, std::uint32_t ranks, bool blind, bool spawned);

/// Whether messages of this process may be announced.
bool announces(bool blind);

}  // namespace dunnage::mpi
