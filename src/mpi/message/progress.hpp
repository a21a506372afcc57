// Receives that are under way are looked after while this process does something else: a sender may
// wait for this process to fetch its data, and data that were fetched early need no time later.
//
// If one thread at a time is in the MPI, calls that wait look after receives. With
// MPI_THREAD_MULTIPLE a thread of our own does, if the user wants one (DUNNAGE_PROGRESS_THREAD).
#pragma once

#include <mutex>
#include <span>

#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Whether no two threads are in the MPI at a time. To be asked after MPI_Init.
bool one_thread_at_a_time();
/// Whether look_after() does nothing for any request.
bool nobody_looks_after();

/// A receive has been begun. Costs a few loads if there is nothing to do.
void look_after(const Request& request);
/// In a call that waits: delivers what has come. Does nothing with MPI_THREAD_MULTIPLE, where
/// another thread may be in a call about those receives.
void progress_receives();

/// Delivers a receive if the MPI has it, as number `index` of the batch. Returns false if the
/// message is not there yet. Returns true also if the MPI has an error for it, which the call about
/// the request tells again.
bool deliver_if_there(Request& request, MPI_Request handle, FetchBatch& batch, int index);

/// While one lives, progress_receives() in this thread also looks at these requests, which a call
/// has taken out of the table.
class AlsoWatched {
 public:
  AlsoWatched(std::span<Request* const> requests, const MPI_Request* handles);
  AlsoWatched(const AlsoWatched&) = delete;
  AlsoWatched& operator=(const AlsoWatched&) = delete;
  ~AlsoWatched();
  void deliver_what_is_there();

 private:
  const std::span<Request* const> requests_;
  const MPI_Request* const handles_;
  AlsoWatched* const outer_;
};

/// To be held while requests are taken out of the table or deleted, since our thread may be looking
/// at one. Empty and free if there is no such thread.
std::unique_lock<std::mutex> no_progress();
/// Before the MPI ends.
void stop_progress_thread();

}  // namespace dunnage::mpi
