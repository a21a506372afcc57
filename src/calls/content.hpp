// The data of messages: who packs it, and what becomes of failures.
#pragma once

#include <optional>

#include "calls/types.hpp"
#include "engine/parcel.hpp"

namespace dunnage::calls {

/// The data in a GPU's memory, or nothing where it is in the host's; also for datatypes that are packed the MPI's own way. Only where
/// there is a driver. Throws std::bad_alloc, type::SpecError.
std::optional<engine::Content> on_gpu(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known);

/// Whether they lie in one piece in a GPU's memory.
bool contiguous_on_gpu(const engine::Content& content);

/// Memory to stage data in: page-locked where they are in a GPU's memory and some is to be had, or that GPU's memory if it may be (`on_device`).
/// Empty where there is no memory.
engine::Staging staging_for(const engine::Content& content, std::int64_t size, bool on_device = false);

/// Packs the first `bytes` bytes, or all. Returns an error code of the MPI; no handler is called.
int gather(const engine::Parcel& parcel, const engine::Content& content, std::int64_t bytes);
inline int gather(const engine::Parcel& parcel, const engine::Content& content) { return gather(parcel, content, parcel.size); }
/// Unpacks the first `bytes` bytes of the message, or all where there are fewer. The same.
int deliver(const engine::Parcel& parcel, const engine::Content& content, std::int64_t bytes);

/// In a handler: the code for what a content throws.
int code_of_current_exception();
/// Does f, and returns that code, or MPI_SUCCESS.
template <class F>
int guarded(F&& f) try {
  f();
  return MPI_SUCCESS;
} catch (const std::exception&) {
  return code_of_current_exception();
}

}  // namespace dunnage::calls
