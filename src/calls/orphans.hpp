// Requests that the program freed while their operation was under way, and messages whose receivers take their time.
//
// The operation goes on, and its staging memory (and for a receive, the delivery) waits for its end. They are
// tested in passing by every later call that could have waited for them.
#pragma once

#include <memory>

#include "calls/context.hpp"
#include "calls/streams.hpp"

namespace dunnage::calls {

/// Takes over an active operation and its request.
void adopt_orphan(MPI_Request request, std::unique_ptr<engine::Operation> operation);
/// Takes over what has not left.
void finish_stream(std::shared_ptr<OutgoingStream> stream);
/// Lets those go on; whether there are none.
bool no_streams_left();
extern std::atomic<std::size_t> waiting_orphans;
void test_orphans();
/// Tests them all; costs one load where there are none.
inline void progress_orphans() {
  if (waiting_orphans.load(std::memory_order_relaxed) != 0) test_orphans();
}
/// Gives them a bounded time to complete, at MPI_Finalize.
void finish_orphans();

}  // namespace dunnage::calls
