// The decision of every packing call and of every message that no announced way takes: is the data
// packed by us, and if not, why.
#pragma once

#include <chrono>
#include <limits>

#include "device/surely_host.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/peers.hpp"

namespace dunnage::mpi {

using device::surely_host;

/// A buffer that we pack. False if the call was declined; the reason has then been counted.
struct Accepted {
  memory::Buffer buffer;
  /// Says who packs, we or the MPI. A message has one only if the trial may measure it.
  plan::PackTrial* trial = nullptr;
  bool passed = false;      // the MPI reaches GPUs: it is given the data there, packed
  int error = MPI_SUCCESS;  // set if the MPI cannot be given the data either, since the host does not reach them
  explicit operator bool() const { return static_cast<bool>(buffer); }
  std::int64_t bytes() const { return buffer.size(); }

  // Of a message that a trial measures, whoever packs it:
  plan::PackTrial::Turn turn{};
  std::chrono::steady_clock::time_point start;
  /// The call has ended with this code.
  void ended(int code) const {
    if (!trial || !turn.measured || code != MPI_SUCCESS) return;
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    trial->took(turn, time.count());
  }
  /// Neither who packs nor how long it takes is what the trial wants to know.
  void leave_trial() { trial = nullptr; }
};

/// Whether the time of a call tells how long its message takes this side. A nonblocking send is
/// over when it returns if the message is so short that the MPI buffers it.
inline bool tells_time(Hook hook, std::int64_t bytes) {
  switch (hook) {
    case Hook::MPI_Send:
    case Hook::MPI_Send_c:
    case Hook::MPI_Bsend:
    case Hook::MPI_Bsend_c:
    case Hook::MPI_Ssend:
    case Hook::MPI_Ssend_c:
    case Hook::MPI_Rsend:
    case Hook::MPI_Rsend_c:
    case Hook::MPI_Recv:
    case Hook::MPI_Recv_c: return true;
    case Hook::MPI_Isend:
    case Hook::MPI_Isend_c: return bytes <= process->model.message(plan::Peers::same_host).eager_limit;
    default: return false;
  }
}

/// Whether a message is none for tickets although it is long enough: contiguous data that is too
/// short to gain by a ticket, and not of a ticket's length.
inline bool surely_no_ticket(plan::Operation operation, const KnownType& known, std::int64_t bytes) {
  return operation != plan::Operation::receive && known.reason() == plan::Reason::contiguous &&
         bytes < process->model.least_ticket && process->settings.tickets != base::Tickets::always && !process->brief &&
         !transport::ticket_length(bytes);
}

/// Whether a call goes to the MPI at once: contiguous data, or data known to bring no gain, and
/// nothing else for us to do. Every handler asks this first. The rest of a handler stands in a
/// function of its own, so that the short way needs no stack frame.
inline bool goes_straight_through(Hook hook, plan::Operation operation, std::int64_t count, MPI_Datatype type) {
  if (process->attention.load(std::memory_order_relaxed)) return false;
  const auto* known = known_type(type);
  std::int64_t bytes = 0;
  if (!known || __builtin_mul_overflow(count, known->bytes(), &bytes)) return false;
  if (plan::is_message(operation) && tickets_concern(bytes) && !surely_no_ticket(operation, *known, bytes))
    return false;
  if (known->reason() == plan::Reason::contiguous) return known->bytes() != 0 || !announcements_possible();
  const auto* variant = known->find(count);
  if (!variant) return false;
  auto* trial = variant->trial(operation);
  if (!trial) return variant->declines(operation);
  if (!plan::is_message(operation) || tells_time(hook, bytes)) return trial->leaves_to_library();
  return trial->settled() ? trial->choice() == plan::Packer::library : variant->declines(operation);
}
/// For a message's buffer, which the host must be able to reach.
inline bool goes_straight_through(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count,
                                  MPI_Datatype type) {
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
                std::int64_t most, int peer = MPI_ANY_SOURCE, MPI_Comm comm = MPI_COMM_WORLD);

/// For messages: declines MPI_PROC_NULL and messages larger than the staging limit too. `most` is
/// the largest value of the call's count type.
Accepted accept_message(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                        std::int64_t most, int peer, MPI_Comm comm);

/// Bytes that a receive with this status brought; 0 if it was cancelled.
std::int64_t received_bytes(const MPI_Status& status);
/// Bytes of a message that a probe found. MPICH's probes leave it open whether the status is of a
/// cancelled message.
std::int64_t probed_bytes(const MPI_Status& status);

}  // namespace dunnage::mpi
