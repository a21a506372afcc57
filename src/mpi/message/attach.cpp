#include "mpi/message/attach.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/message/handle.hpp"
#include "mpi/message/progress.hpp"

namespace dunnage::mpi {
namespace {

int asking = 0;                                   // objects of Asking that live
std::vector<std::unique_ptr<Request>> displaced;  // by operations that were begun meanwhile

/// Another operation has the handle now.
void end(Request* old) {
  if (old && asking != 0)
    displaced.emplace_back(old);
  else
    delete old;
}

}  // namespace

Asking::Asking() : before_(displaced.size()) { ++asking; }
Asking::~Asking() {
  --asking;
  displaced.resize(before_);
}

std::unique_ptr<Request> Asking::taken_out(std::uint64_t key) const {
  const auto begin = displaced.begin() + static_cast<std::ptrdiff_t>(before_);
  const auto found = std::find_if(begin, displaced.end(), [&](const auto& r) { return r && r->key == key; });
  if (found == displaced.end()) return std::unique_ptr<Request>(process->requests.erase(key));
  return std::move(*found);
}

void forget_request(int rc, const MPI_Request* request) {
  if (rc != MPI_SUCCESS || process->requests.empty()) return;
  const auto key = key_of(*request);
  if (!process->requests.find(key)) return;  // without a lock: the handle is this thread's
  const auto alone = no_progress();
  end(process->requests.erase(key));
}

void attach(MPI_Request request, std::unique_ptr<Request> operation, std::int64_t bytes) {
  if (request == MPI_REQUEST_NULL) {  // not begun, see mpi_began()
    MPI_Status unknown{};
    set_empty(unknown);
    if (operation->receives()) operation->abandon(MPI_ERR_OTHER, unknown);
    return;
  }
  if (!operation->persistent) {
    // A send that is complete needs no entry, and calls about it then go the short way. An MPI
    // gives one handle to all sends that complete at once. Several threads may have such a handle,
    // so with threads such a send must have no entry. Receives are not asked: MPICH would raise
    // their errors here, through the wrong communicator's handler. Sends whose completion waits for
    // a receiver are not asked either: they are synchronous, with handles of their own.
    const bool asks = bytes < never_asked || !one_thread_at_a_time();
    int done = 0;
    MPI_Status status;
    if (asks && !operation->brings() && !operation->waits_for_receiver() && !operation->several() &&
        process->own.Request_get_status(request, &done, &status) == MPI_SUCCESS && done) {
      forget_request(MPI_SUCCESS, &request);
      return;
    }
    operation->active = true;
  }
  operation->key = key_of(request);
  operation->count_if_special();
  auto* const kept = operation.get();
  {
    const auto alone = no_progress();
    end(process->requests.insert(kept->key, operation.release()));
  }
  look_after(*kept);
}

int follow(std::shared_ptr<Copies> copies, const ErrorsOf& errors, MPI_Request* request, bool persistent,
           std::unique_ptr<Request> operation) {
  // An operation that is complete needs no entry, as in attach().
  int done = 0;
  MPI_Status status;
  if (!persistent && !operation && process->own.Request_get_status(*request, &done, &status) == MPI_SUCCESS && done) {
    forget_request(MPI_SUCCESS, request);
    const int failed = copies->deliver();
    return failed == MPI_SUCCESS ? failed : raise(errors, failed);
  }
  if (!operation) operation = std::make_unique<Request>();
  operation->persistent = persistent;
  operation->attach_copies(std::move(copies));
  operation->raise_on(errors);
  attach(*request, std::move(operation));
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
