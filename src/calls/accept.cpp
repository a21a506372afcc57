#include "calls/accept.hpp"

#include "calls/gpu_pack.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/tickets.hpp"
#ifdef DUNNAGE_CUDA
#include "device/place.hpp"
#endif

namespace dunnage::calls {
namespace {
using plan::Operation;
using plan::Reason;

constexpr bool is_message(Operation operation) { return operation != Operation::pack && operation != Operation::unpack; }

/// What two blocks of a datatype hold.
constexpr std::int64_t most_of_device = 2 * (std::int64_t{std::numeric_limits<int>::max()} - engine::Parcel::gap);

Reason decide(plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type, std::int64_t most,
              int peer, MPI_Comm comm, Accepted& accepted) {
  const auto* known = known_type(type);
  const bool message = is_message(operation);
  if (message && context->settings.force != base::Force::never)
    if (auto content = on_gpu(buffer, count, type, known)) {
      accepted.passed = passes_to(peer, comm);
      if (accepted.passed && contiguous_on_gpu(*content)) return Reason::passed;
      accepted.error = MPI_ERR_COUNT;
      if (content->size() > most_of_device) return Reason::too_large;
      accepted.error = MPI_SUCCESS;
      accepted.content = std::move(*content);
      return Reason::accelerated;
    }
  if (message) see_host_message();
  if (!known) return Reason::not_committed;
  if (known->reason() != Reason::accelerated) return known->reason();
  if (count == 0 || known->layout().size == 0) return Reason::empty;
  // A null buffer is right with absolute addresses only; those types begin far from zero.
  if (count < 0 || (buffer == nullptr && known->layout().true_lb == 0)) return Reason::bad_argument;
  if (known->layout().size > most / count) return Reason::too_large;
  if (context->settings.force == base::Force::never) return Reason::never;
  const auto take = [&](const Variant& variant) {
    const auto choice = variant.choice(operation, peers_of(peer, comm));
    if (choice == Reason::accelerated) accepted.content = engine::Content(variant.program, buffer);
    return choice;
  };
  const auto* variant = known->find(count);
  return variant ? take(*variant) : take(known->plan(count));
}

}  // namespace

bool on_device(const void* address) {
#ifdef DUNNAGE_CUDA
  if (surely_host(address)) return false;
  const auto* driver = device::driver();
  return driver && device::known_place(*driver, address).memory == device::Memory::device;
#else
  (void)address;
  return false;
#endif
}

Accepted accept(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                std::int64_t most, int peer, MPI_Comm comm) {
  Accepted accepted;
  Reason reason;
  try {
    reason = decide(operation, buffer, count, type, most, peer, comm, accepted);
  } catch (const type::SpecError&) {
    reason = Reason::too_large;
#ifdef DUNNAGE_CUDA
  } catch (const device::Error&) {
    reason = Reason::device_error;  // part of it is nobody's memory
    accepted.error = code_of_current_exception();
#endif
  } catch (const std::bad_alloc&) {
    reason = Reason::no_memory;
  }
  if (context->reporting && is_message(operation) && operation != Operation::receive) {
    if (reason == Reason::passed)
      context->count(hook, plan::GpuWay::passed);
    else if (accepted.content.elsewhere())
      context->count(hook, way_without_ticket(hook, accepted.content, peer, comm));
  }
  if (reason != Reason::accelerated) {
    accepted.content = {};
    context->count(hook, reason);
  }
  return accepted;
}

Message stage_bytes(plan::Operation operation, std::int64_t size, bool both, const engine::Content& content, bool on_device) {
  const auto& model = context->model;
  // A single byte cannot be divided.
  const bool divided = size < 2                              ? false
                       : size > std::numeric_limits<int>::max() ? true
                       : both   ? !plan::contiguous(model, plan::Operation::send, size) || !plan::contiguous(model, plan::Operation::receive, size)
                            : !plan::contiguous(model, operation, size);
  Message message;
  if (divided) {
    const auto first = engine::Parcel::middle(size);
    message.type = PackedType::divided(first, size - first);
    if (message.type) message.parcel = {staging_for(content, size + engine::Parcel::gap, on_device), size, first};
  } else {
    message.parcel = {staging_for(content, size, on_device), size, size};
  }
  return message;
}

Message stage(Hook hook, plan::Operation operation, Accepted& accepted, bool both) {
  // A buffered send's data are copied by the host, and so may be those that are sent and replaced.
  const bool plain = !both && operation != plan::Operation::buffered_send;
  auto message = stage_bytes(operation, accepted.bytes(), both, accepted.content, plain && accepted.passed);
  if (!message) {
    context->count(hook, Reason::no_memory);
    if (accepted.content.device()) accepted.error = MPI_ERR_NO_MEM;
    accepted.content = {};
  }
  return message;
}

std::int64_t received_bytes(const MPI_Status& status) {
  int cancelled = 0;
  context->own.Test_cancelled(&status, &cancelled);
  return cancelled ? 0 : probed_bytes(status);
}

std::int64_t probed_bytes(const MPI_Status& status) {
  MPI_Count bytes = 0;
  if (context->own.Get_elements_x(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED) return 0;
  return bytes;
}

}  // namespace dunnage::calls
