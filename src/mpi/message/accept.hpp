// The decision of every packing call and of every message that no announced way takes: is the data
// packed by us, and if not, why.
#pragma once

#include <limits>

#include "device/surely_host.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/peers.hpp"

namespace dunnage::mpi {

using device::surely_host;

/// A buffer that we pack. False if the call was declined; the reason has then been counted.
struct Accepted {
  memory::Buffer buffer;
  /// Of packing calls: says who packs, we or the MPI.
  plan::PackTrial* trial = nullptr;
  bool passed = false;      // the MPI reaches GPUs: it is given the data there, packed
  int error = MPI_SUCCESS;  // set if the MPI cannot be given the data either, since the host does not reach them
  explicit operator bool() const { return static_cast<bool>(buffer); }
  std::int64_t bytes() const { return buffer.size(); }
};

/// Whether a message is none for tickets although it is long enough: contiguous data that is too
/// short to gain by a ticket, and not of a ticket's length.
inline bool surely_no_ticket(plan::Operation operation, const KnownType& known, std::int64_t bytes) {
  return operation != plan::Operation::receive && known.reason() == plan::Reason::contiguous &&
         bytes < process->model.least_ticket && process->settings.tickets != base::Tickets::always && !process->brief &&
         !transport::ticket_length(bytes);
}

/// What goes_straight_through() says of data that are not contiguous.
[[gnu::noinline]] inline bool gaps_go_straight_through(Hook hook, plan::Operation operation, std::int64_t count,
                                                       const KnownType& known, bool for_tickets) {
  const auto* variant = known.find(count);
  if (!variant) return false;
  const bool message = plan::is_message(operation);
  const bool ticket = for_tickets && variant->ticket;
  if (!ticket && gains_too_little(hook, operation, *variant)) return true;
  auto* trial = trial_of(hook, operation, *variant);
  if (trial && (!message || tells(hook) != Tells::nothing)) return trial->leaves_to_library();
  if (ticket) return false;
  return trial && trial->settled() ? trial->choice() == plan::Packer::library : variant->declines(operation);
}

/// Whether a call goes to the MPI at once: contiguous data, or data known to bring no gain, and
/// nothing else for us to do. Every handler asks this first. The rest of a handler stands in a
/// function of its own, so that the short way needs no stack frame. Contiguous data have the
/// shortest way, because a call with few bytes takes some nanoseconds.
[[gnu::always_inline]] inline bool goes_straight_through(Hook hook, plan::Operation operation, std::int64_t count,
                                                         MPI_Datatype type) {
  if (process->attention.load(std::memory_order_relaxed)) return false;
  const auto* known = known_type(type);
  std::int64_t bytes = 0;
  if (!known || __builtin_mul_overflow(count, known->bytes(), &bytes)) return false;
  const bool contiguous = known->reason() == plan::Reason::contiguous;
  const bool for_tickets =
      plan::is_message(operation) && tickets_concern(bytes) && !surely_no_ticket(operation, *known, bytes);
  if (for_tickets && (contiguous || operation == plan::Operation::receive || transport::ticket_length(bytes)))
    return false;
  if (contiguous) return known->bytes() != 0 || !announcements_possible();
  return gaps_go_straight_through(hook, operation, count, *known, for_tickets);
}
/// For a message's buffer, which the host must be able to reach.
[[gnu::always_inline]] inline bool goes_straight_through(Hook hook, plan::Operation operation, const void* buffer,
                                                         std::int64_t count, MPI_Datatype type) {
  return goes_straight_through(hook, operation, count, type) && surely_host(buffer);
}

/// What a sending call is to the plan.
constexpr plan::Operation operation_of(Hook hook) {
  switch (hook) {
    case Hook::MPI_Bsend:
    case Hook::MPI_Bsend_c:
    case Hook::MPI_Ibsend:
    case Hook::MPI_Ibsend_c:
    case Hook::MPI_Bsend_init:
    case Hook::MPI_Bsend_init_c: return plan::Operation::buffered_send;
    default: return plan::Operation::send;
  }
}

/// For packing calls: any size. `most` is the largest byte count that the call's count type holds.
Accepted accept(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                std::int64_t most);

/// For messages: declines MPI_PROC_NULL and messages larger than the staging limit too. `turn` says
/// who packs, unless it is empty. `most` is the largest value of the call's count type.
Accepted accept_message(Hook hook, plan::Operation operation, const MessageTurn& turn, const void* buffer,
                        std::int64_t count, MPI_Datatype type, std::int64_t most, int peer, MPI_Comm comm);

/// Bytes that a receive with this status brought; 0 if it was cancelled.
std::int64_t received_bytes(const MPI_Status& status);
/// Bytes of a message that a probe found. MPICH's probes leave it open whether the status is of a
/// cancelled message.
std::int64_t probed_bytes(const MPI_Status& status);

}  // namespace dunnage::mpi
