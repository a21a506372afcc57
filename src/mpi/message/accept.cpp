#include "mpi/message/accept.hpp"

#include "memory/parcel.hpp"
#include "mpi/process/communicators.hpp"

namespace dunnage::mpi {
namespace {

using plan::is_message;
using plan::Operation;
using plan::Reason;

/// The most bytes of device data that a datatype of two blocks holds.
constexpr std::int64_t most_of_device = 2 * (std::int64_t{std::numeric_limits<int>::max()} - memory::Parcel::gap);

/// Who packs a message of host memory: a trial says it, or the model.
Reason choose_message(Hook hook, const Variant& variant, Operation operation, const MessageTurn& turn, int peer,
                      MPI_Comm comm) {
  if (!turn && gains_too_little(hook, operation, variant)) return Reason::no_gain;
  if (!turn) return variant.choice(operation, peers_of(peer, comm));
  if (turn.is_left()) return Reason::left_by_other;
  return turn.is_librarys() ? Reason::tried : Reason::accelerated;
}

Reason decide(Hook hook, Operation operation, const MessageTurn& turn, const void* buffer, std::int64_t count,
              MPI_Datatype type, std::int64_t most, int peer, MPI_Comm comm, Accepted& accepted) {
  const auto* known = known_type(type);
  const bool message = is_message(operation);
  if (message && process->settings.force != base::Force::never)
    if (auto data = on_gpu(buffer, count, type, known)) {
      accepted.passed = passes_to(peer, comm);
      if (accepted.passed && contiguous_on_gpu(*data)) return Reason::passed;
      accepted.error = MPI_ERR_COUNT;
      if (data->size() > most_of_device) return Reason::too_large;
      accepted.error = MPI_SUCCESS;
      accepted.buffer = std::move(*data);
      return Reason::accelerated;
    }
  if (message) see_host_message();
  if (!known) return Reason::not_committed;
  if (known->reason() != Reason::accelerated) return known->reason();
  if (count == 0 || known->layout().size == 0) return Reason::empty;
  // A null buffer is right with absolute addresses only; those types begin far from zero.
  if (count < 0 || (buffer == nullptr && known->layout().true_lb == 0)) return Reason::bad_argument;
  if (known->layout().size > most / count) return Reason::too_large;
  if (process->settings.force == base::Force::never) return Reason::never;
  if (beyond_us(static_cast<const char*>(buffer) + known->layout().data.offset)) return Reason::no_kernels;
  const auto take = [&](const Variant& variant) {
    Reason choice;
    if (message)
      choice = choose_message(hook, variant, operation, turn, peer, comm);
    else if ((accepted.trial = variant.trial(operation)))
      choice = Reason::accelerated;
    else
      choice = variant.choice(operation, plan::Peers::same_host);
    if (choice == Reason::accelerated) accepted.buffer = memory::Buffer(variant.program, buffer);
    return choice;
  };
  const auto* variant = known->find(count);
  return variant ? take(*variant) : take(known->plan(count));
}

/// Counts a call that is left to the MPI, by its size if the type is known, and a send by its peer.
void count_declined(Hook hook, Reason reason, Operation operation, std::int64_t count, MPI_Datatype type, int peer,
                    MPI_Comm comm) {
  const auto* known = known_type(type);
  std::int64_t bytes = 0;
  if (!known || count <= 0 || __builtin_mul_overflow(count, known->bytes(), &bytes)) bytes = 0;
  const bool to_peer = is_message(operation) && operation != Operation::receive && bytes > 0;
  process->count_declined(hook, reason, bytes, to_peer ? counted_peer(comm, peer) : -1);
}

Accepted accept(Hook hook, Operation operation, const MessageTurn& turn, const void* buffer, std::int64_t count,
                MPI_Datatype type, std::int64_t most, int peer, MPI_Comm comm) {
  Accepted accepted;
  Reason reason;
  try {
    reason = decide(hook, operation, turn, buffer, count, type, most, peer, comm, accepted);
  } catch (const type::SpecError&) {
    reason = Reason::too_large;
  } catch (const device::Error&) {
    reason = Reason::device_error;  // part of the buffer is nobody's memory
    accepted.error = code_of_current_exception();
  } catch (const std::bad_alloc&) {
    reason = Reason::no_memory;
  }
  if (reason == Reason::passed && is_message(operation) && operation != Operation::receive)
    process->count(hook, plan::GpuWay::passed);
  if (reason != Reason::accelerated) {
    accepted.buffer = {};
    if (process->reporting) count_declined(hook, reason, operation, count, type, peer, comm);
  }
  return accepted;
}

}  // namespace

Accepted accept(Hook hook, Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                std::int64_t most) {
  return accept(hook, operation, {}, buffer, count, type, most, MPI_ANY_SOURCE, MPI_COMM_WORLD);
}

Accepted accept_message(Hook hook, Operation operation, const MessageTurn& turn, const void* buffer, std::int64_t count,
                        MPI_Datatype type, std::int64_t most, int peer, MPI_Comm comm) {
  if (peer == MPI_PROC_NULL) {
    process->count(hook, Reason::null_process);
    return {};
  }
  // A receive must take what a sender with the same settings packs, and its buffer may be the
  // larger; staging memory that no message fills is never touched.
  const auto limit = operation == Operation::receive
                         ? static_cast<std::uint64_t>(most)
                         : std::min(static_cast<std::uint64_t>(most), process->settings.staging_limit);
  return accept(hook, operation, turn, buffer, count, type, static_cast<std::int64_t>(limit), peer, comm);
}

std::int64_t received_bytes(const MPI_Status& status) {
  int cancelled = 0;
  process->own.Test_cancelled(&status, &cancelled);
  return cancelled ? 0 : probed_bytes(status);
}

std::int64_t probed_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  if (process->own.Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED) return 0;
  return bytes;
}

}  // namespace dunnage::mpi
