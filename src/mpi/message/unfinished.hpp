// Sends that the MPI has completed at once, although their data are still in the program's buffers:
// messages to oneself whose receive was posted. The program may change a buffer when a call has
// told it that the send is complete. So every such call finishes these sends first, all together.
#pragma once

#include <atomic>
#include <memory>

#include "mpi/process/error.hpp"
#include "transport/way.hpp"

namespace dunnage::mpi {

extern std::atomic<std::size_t> unfinished_sends;

/// Keeps a send for finish_sends(). Thread-safe.
void finish_later(std::unique_ptr<transport::Sending> sending, const ErrorsOf& errors);
/// Delivers the receives that have come, with as few launches as possible, and finishes all sends.
/// Calls the error handlers of sends that fail. Costs one load if there are no such sends.
/// Thread-safe.
void finish_all_sends();
inline void finish_sends() {
  if (unfinished_sends.load(std::memory_order_acquire) != 0) finish_all_sends();
}

}  // namespace dunnage::mpi
