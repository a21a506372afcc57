// Finds out whether every rank of a job on one host has Dunnage, if no server knows it
// (bootstrap.hpp).
//
// The ranks meet at a socket whose name they all make alike. The first rank that comes, before
// MPI_Init, keeps the roster. The others connect to it. After MPI_Init they tell the keeper who
// they are, and the keeper answers: yes to all if all have told, and else no to all.
//
// MPI_Init of the usual MPIs waits until all ranks have begun it, so all have connected by then.
// With another MPI a rank may be too late. Then all ranks hear no.
#pragma once

#include <chrono>
#include <optional>

#include "base/descriptor.hpp"
#include "transport/bootstrap_protocol.hpp"

namespace dunnage::transport {

/// How long the keeper waits. The other ranks wait until it answers or ends, because it may count
/// whoever has told.
struct RosterPatience {
  std::chrono::milliseconds connected{20};  // until all have connected
  std::chrono::milliseconds told{10'000};   // until all have told
};

/// The roster as one rank sees it. Processes of other users are not heard. Not thread-safe.
class HostRoster {
 public:
  /// Before MPI_Init. Waits for nobody. `host`: ranks with one number meet. `ranks`: about how
  /// many. Returns nothing if the rank can neither keep a roster nor find one.
  static std::optional<HostRoster> join(std::uint64_t host, std::uint32_t ranks);
  HostRoster(HostRoster&&) = default;
  HostRoster& operator=(HostRoster&&) = default;
  /// A rank that has not asked for the answer takes no part, and all others hear no.
  ~HostRoster();

  /// After MPI_Init. Returns nothing if not all ranks take part, or if one has other settings. To
  /// be called once.
  std::optional<Told> answer(const Member& self, const RosterPatience& patience = {});

 private:
  HostRoster(base::Descriptor socket, bool keeps) : socket_(std::move(socket)), keeps_(keeps) {}
  std::optional<Told> decide(const Member& self, const RosterPatience& patience);

  base::Descriptor socket_;  // the keeper listens there; another rank is connected to the keeper
  bool keeps_;
};

}  // namespace dunnage::transport
