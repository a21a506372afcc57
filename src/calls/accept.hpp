// The one decision every call makes: does our engine take it, and if not, why.
#pragma once

#include <limits>

#include "calls/types.hpp"

namespace dunnage::calls {

/// A call that our engine takes; false where it was declined (and counted).
struct Accepted {
  std::shared_ptr<const pack::Program> program;
  explicit operator bool() const { return program != nullptr; }
  std::int64_t bytes() const { return program->size(); }
};

/// The commonest call by far, and the one that must cost least: contiguous data.
inline bool is_contiguous(Hook hook, MPI_Datatype type) {
  const auto* known = known_type(type);
  if (!known || known->reason() != plan::Reason::contiguous) return false;
  context->count(hook, plan::Reason::contiguous);
  return true;
}

/// For packing calls: any size. `most`: the largest byte count that the call's count type holds.
Accepted accept(Hook hook, plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type,
                std::int64_t most);

/// For messages: also declines MPI_PROC_NULL and what is larger than the staging limit.
template <class Count>
Accepted accept_message(Hook hook, plan::Operation operation, const void* buffer, Count count, MPI_Datatype type,
                        int peer) {
  if (peer == MPI_PROC_NULL) {
    context->count(hook, plan::Reason::null_process);
    return {};
  }
  // A receive must take what a sender of the same settings packs, and its buffer may be the larger; memory that no
  // message fills is never touched.
  const auto limit = operation == plan::Operation::send ? static_cast<std::int64_t>(context->settings.staging_limit)
                                                        : std::numeric_limits<std::int64_t>::max();
  return accept(hook, operation, buffer, count, type, std::min<std::int64_t>(std::numeric_limits<Count>::max(), limit));
}

/// Staging for an accepted message; clears it (and counts) where there is no memory.
engine::Staging stage(Hook hook, Accepted& accepted);

/// Bytes that a receive with this status brought.
std::int64_t received_bytes(const MPI_Status& status);

}  // namespace dunnage::calls
