// Receives that are under way and have come, looked after while this process does something else: a sender may be waiting for this one to fetch its
// data (calls/gpu_tickets.hpp), and what has been fetched needs no time later.
//
// With one thread at a time in the MPI that is done by calls that wait; with MPI_THREAD_MULTIPLE by a thread of our own, where the program's user
// wants one (DUNNAGE_PROGRESS_THREAD).
#pragma once

#include <mutex>

#include "calls/context.hpp"

namespace dunnage::calls {

/// A receive has been begun. Costs a few loads where there is nothing to do.
void look_after(const engine::Operation& operation);
/// In a call that waits: puts where it belongs what has come. Does nothing with MPI_THREAD_MULTIPLE, where another thread may be in a call about them: then
/// senders wait for no longer than gpu_finish() does, or our thread is at it.
void progress_receives();

/// To be held while operations are taken out of the table or deleted: our thread may be looking at one. Empty, and free, where there is no such thread.
std::unique_lock<std::mutex> no_progress();
/// Before the MPI ends.
void stop_progress_thread();

}  // namespace dunnage::calls
