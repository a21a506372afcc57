// Sends whose data Dunnage packs, and the MPI carries.
#pragma once

#include <optional>

#include "mpi/message/accept.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/ways/send_call.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

/// A message for staging memory: packed by us, carried by the MPI.
struct Staged {
  Accepted accepted;
  memory::Parcel parcel;
};
/// Empty if the MPI is to be given the program's buffer, or if `accepted.error` tells why not.
Staged stage(const SendCall& call, MessageTurn& turn, const std::optional<transport::Outbound>& message);

/// A persistent send: one parcel for all starts, or a trial that each start asks.
struct StagedPersistent {
  Accepted accepted;
  memory::Parcel parcel;
  plan::ExchangeTrial* trial = nullptr;
};
StagedPersistent stage_persistent(const SendCall& call, const std::optional<transport::Outbound>& message);

/// A parcel for data that we pack for a send. If it is empty, `why` tells the reason.
memory::Parcel parcel_of(Hook hook, const memory::Buffer& buffer, bool in_device, plan::Reason& why);

}  // namespace dunnage::mpi
