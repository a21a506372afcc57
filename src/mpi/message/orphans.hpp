// Requests that the program freed while their operation was under way.
//
// The operation goes on: its staging memory, and for a receive the delivery, wait for its end.
// Later calls that could have waited for it test it in passing.
#pragma once

#include <atomic>
#include <memory>

#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Takes over an active operation and its request.
void adopt_orphan(MPI_Request request, std::unique_ptr<Request> operation);
extern std::atomic<std::size_t> waiting_orphans;
void test_orphans();
/// Tests all orphans. Costs one load if there are none.
inline void progress_orphans() {
  if (waiting_orphans.load(std::memory_order_relaxed) != 0) test_orphans();
}
/// Gives orphans a bounded time to complete, at MPI_Finalize.
void finish_orphans();

}  // namespace dunnage::mpi
