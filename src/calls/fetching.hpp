// A call that blocks inside the MPI cannot fetch what arrives by ticket from another host meanwhile, while its sender waits for that
// (calls/streams.hpp). Where that may happen, blocking calls of ours ask again and again instead, and fetch in between.
#pragma once

#include "calls/context.hpp"

namespace dunnage::calls {

/// Whether a call that blocks must fetch in between: posted receives may meet such tickets. Not with MPI_THREAD_MULTIPLE, where
/// another thread may be completing them.
inline bool must_fetch() { return context->fetches && !context->operations.empty(); }
/// Fetches for posted receives that have met a ticket.
void fetch_arrived();

/// Calls poll(&done) until it fails or is done. Returns what poll returned.
template <class Poll>
int fetch_until(Poll&& poll) {
  for (;;) {
    int done = 0;
    const int rc = poll(&done);
    if (rc != MPI_SUCCESS || done) return rc;
    fetch_arrived();
  }
}

/// Completes a request.
inline int wait_fetching(MPI_Request* request, MPI_Status* status) {
  return fetch_until([&](int* done) { return context->own.Test(request, done, status); });
}

}  // namespace dunnage::calls
