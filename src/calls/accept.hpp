// The one decision every call makes: does our engine take it, and if not, why.
#pragma once

#include <limits>

#include "calls/content.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/packed_type.hpp"
#include "calls/peers.hpp"
#include "calls/types.hpp"
#include "engine/parcel.hpp"

namespace dunnage::calls {

/// A call that our engine takes; false where it was declined (and counted).
struct Accepted {
  engine::Content content;
  bool passed = false;      // to an MPI that reaches GPUs, packed
  int error = MPI_SUCCESS;  // an error code of the MPI, where it cannot be given the data: those that the host does not reach
  explicit operator bool() const { return static_cast<bool>(content); }
  std::int64_t bytes() const { return content.size(); }
};

/// The commonest calls by far, and the ones that must cost least: contiguous data, or data known to bring no gain, and
/// nothing else to do for us. Every handler asks this first and goes to the MPI at once; the rest of it stands in a
/// function of its own, so that the short way needs no stack frame.
inline bool goes_straight_through(plan::Operation operation, std::int64_t count, MPI_Datatype type) {
  if (context->attention.load(std::memory_order_relaxed)) return false;
  const auto* known = known_type(type);
  std::int64_t bytes = 0;
  if (!known || __builtin_mul_overflow(count, known->bytes(), &bytes) || bytes >= context->tickets_from.load(std::memory_order_relaxed)) return false;
  if (known->reason() == plan::Reason::contiguous) return known->bytes() != 0 || context->world == nullptr;
  const auto* variant = known->find(count);
  return variant && variant->declines(operation);
}

/// The same for a buffer of a message, which the host must be able to reach.
inline bool goes_straight_through(plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type) {
  return goes_straight_through(operation, count, type) && surely_host(buffer);
}

/// What a sending call is to the plan.
constexpr plan::Operation operation_of(Hook hook) {
  switch (hook) {
    case Hook::MPI_Bsend: case Hook::MPI_Bsend_c: case Hook::MPI_Ibsend: case Hook::MPI_Ibsend_c: case Hook::MPI_Bsend_init: case Hook::MPI_Bsend_init_c:
      return plan::Operation::buffered_send;
    default: return plan::Operation::send;
  }
}

/// For packing calls: any size. `most`: the largest byte count that the call's count type holds.
Accepted accept(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                std::int64_t most, int peer = MPI_ANY_SOURCE, MPI_Comm comm = MPI_COMM_WORLD);

/// For messages: also declines MPI_PROC_NULL and what is larger than the staging limit.
template <class Count>
Accepted accept_message(Hook hook, plan::Operation operation, const void* buffer, Count count, MPI_Datatype type,
                        int peer, MPI_Comm comm) {
  if (peer == MPI_PROC_NULL) {
    context->count(hook, plan::Reason::null_process);
    return {};
  }
  // A receive must take what a sender of the same settings packs, and its buffer may be the larger; memory that no
  // message fills is never touched.
  constexpr std::uint64_t most = std::numeric_limits<Count>::max();
  const auto limit = operation == plan::Operation::receive ? most : std::min(most, context->settings.staging_limit);
  return accept(hook, operation, buffer, count, type, static_cast<std::int64_t>(limit), peer, comm);
}

/// Staging for an accepted message, and how the MPI is shown it: one element of `type`, or `size` of MPI_PACKED.
struct Message {
  engine::Parcel parcel;
  PackedType type;
  explicit operator bool() const { return static_cast<bool>(parcel); }
  char* data() const { return parcel.data(); }
  template <class Count>
  Count count() const { return parcel.divided() ? Count{1} : static_cast<Count>(parcel.size); }
};

/// Whether the host must not touch an address. A few nanoseconds where there is no driver (device/loads.hpp), and for memory in the heap.
bool on_device(const void* address);

/// Staging for `size` bytes of that content; empty where there is no memory. `on_device`: in device memory, if there is some.
Message stage_bytes(plan::Operation operation, std::int64_t size, bool both = false, const engine::Content& content = {}, bool on_device = false);

/// `both`: the same memory is sent from and received into. Clears `accepted` (and counts) where there is no memory.
Message stage(Hook hook, plan::Operation operation, Accepted& accepted, bool both = false);

/// Bytes that a receive with this status brought.
std::int64_t received_bytes(const MPI_Status& status);
/// Of a message that a probe found. MPICH's probes leave it open whether the status is of something cancelled.
std::int64_t probed_bytes(const MPI_Status& status);

}  // namespace dunnage::calls
