// Whether every rank of a job on one host has Dunnage, if no server knows it (bootstrap.hpp).
//
// The ranks meet at a socket whose name they all make alike. The first rank that comes, before
// MPI_Init, keeps the roster. The others tell it who they are. After MPI_Init the keeper looks who
// has told. It answers yes to all if all have, and else no. A rank that is too late finds no
// keeper, and then keeps a roster on which the others are missing.
//
// MPI_Init of the usual MPIs waits until all ranks have begun it. With another MPI a rank may be
// too late, and all ranks do without.
#pragma once

#include <chrono>
#include <optional>

#include "base/descriptor.hpp"
#include "transport/bootstrap_protocol.hpp"

namespace dunnage::transport {

/// Of one rank. Processes of other users are not heard. Not thread-safe.
class HostRoster {
 public:
  /// Before MPI_Init. Waits for nobody. Ranks with one Member::host meet. It must not be 0. Returns
  /// nothing if the rank can neither keep a roster nor find one.
  static std::optional<HostRoster> join(const Member& self);

  /// After MPI_Init. Returns nothing if not all ranks have come, or if one of them has other
  /// settings. The keeper waits so long for ranks that are missing. The others wait so long for the
  /// keeper, whose MPI_Init may take longer. To be called once.
  std::optional<Told> answer(std::chrono::milliseconds for_ranks = std::chrono::milliseconds(20),
                             std::chrono::milliseconds for_keeper = std::chrono::seconds(30));

 private:
  HostRoster(const Member& self, base::Descriptor socket, bool keeps)
      : self_(self), socket_(std::move(socket)), keeps_(keeps) {}
  std::optional<Told> decide(std::chrono::milliseconds patience);

  Member self_;
  base::Descriptor socket_;  // the keeper listens there; another rank is connected to the keeper
  bool keeps_;
};

}  // namespace dunnage::transport
