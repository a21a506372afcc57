// MPI_Bcast among ranks of one host, by a window that they share (transport/shm/window.hpp).
//
// Whether a broadcast is ours is decided alike by all ranks, without a message: by the setting, the communicator and the packed bytes, and by how many broadcasts the
// communicator has had. Buffers and datatypes may differ from rank to rank.
#pragma once

#include <optional>

#include "calls/context.hpp"

namespace dunnage::calls {

/// Whether any broadcast may be ours. Two loads. Nothing that may differ between ranks is asked.
inline bool broadcasts() { return context->settings.bcast == base::Bcast::window && context->initialized.load(std::memory_order_relaxed); }
/// Whether the call goes to the MPI from here: else a profiling tool is between, sees it first, and makes it again by its PMPI name.
template <class Function>
bool nothing_between(Function next) { return reinterpret_cast<void*>(next) == reinterpret_cast<void*>(context->own.Bcast); }

/// The call's result, where it was ours; else nothing, and nothing is done.
std::optional<int> broadcast(Hook hook, void* buffer, std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm);

/// Before MPI_Finalize.
void forget_broadcasts();

}  // namespace dunnage::calls
