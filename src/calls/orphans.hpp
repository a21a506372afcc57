// Requests that the program freed while their operation was under way.
//
// The operation goes on, and its staging memory (and for a receive, the delivery) waits for its end. They are
// tested in passing by every later call that could have waited for them.
#pragma once

#include <memory>

#include "calls/context.hpp"

namespace dunnage::calls {

/// Takes over an active operation and its request.
void adopt_orphan(MPI_Request request, std::unique_ptr<engine::Operation> operation);
/// Tests them all; costs one load where there are none.
void progress_orphans();
/// Gives them a bounded time to complete, at MPI_Finalize.
void finish_orphans();

}  // namespace dunnage::calls
