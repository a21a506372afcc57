#include "mpi/message/attach.hpp"

#include <utility>

#include "mpi/message/progress.hpp"

namespace dunnage::mpi {

void forget_request(int rc, const MPI_Request* request) {
  if (rc != MPI_SUCCESS || process->requests.empty()) return;
  const auto alone = no_progress();
  delete process->requests.erase(key_of(*request));
}

void attach(MPI_Request request, std::unique_ptr<Request> operation) {
  if (!operation->persistent) {
    // A send that is complete must have no entry: an MPI gives one handle to all sends that
    // complete at once. Receives are not asked: MPICH would raise their errors here, through the
    // wrong communicator's handler. Sends whose completion waits for a receiver are not asked
    // either: they are synchronous, with handles of their own.
    int done = 0;
    MPI_Status status;
    if (!operation->brings() && !operation->waits_for_receiver() && !operation->several() &&
        process->own.Request_get_status(request, &done, &status) == MPI_SUCCESS && done) {
      forget_request(MPI_SUCCESS, &request);
      return;
    }
    operation->active = true;
  }
  operation->key = key_of(request);
  auto* const kept = operation.get();
  {
    const auto alone = no_progress();
    delete process->requests.insert(kept->key, operation.release());
  }
  look_after(*kept);
}

int follow(std::shared_ptr<Copies> copies, const ErrorsOf& errors, MPI_Request* request, bool persistent,
           std::unique_ptr<Request> operation) {
  // An operation that is complete must have no entry, as in attach().
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
