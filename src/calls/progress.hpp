// Receives that are under way and have come, looked after while this process waits for something else: a sender may be waiting for
// this one to fetch its data (calls/gpu_tickets.hpp).
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

/// A receive has been begun, which may meet such a ticket. Costs one load where there are none.
void look_after(const engine::Operation& operation);
/// Puts where it belongs what has come for such receives. Does nothing with MPI_THREAD_MULTIPLE, where another thread may be in a call about
/// them: then senders wait for no longer than gpu_finish() does.
void progress_receives();

}  // namespace dunnage::calls
