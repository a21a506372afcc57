#include "calls/nonblocking.hpp"

namespace dunnage::calls {

std::unique_ptr<engine::Operation> new_operation(Hook hook, Accepted& accepted, OperationKind kind, const void* user,
                                                 bool persistent, Message& message) {
  auto* operation = new (std::nothrow) engine::Operation{};
  if (!operation) {
    context->count(hook, plan::Reason::no_memory);
    accepted.program.reset();
    return nullptr;
  }
  operation->kind = kind;
  operation->persistent = persistent;
  operation->program = accepted.program;
  operation->user = const_cast<void*>(user);
  operation->parcel = std::move(message.parcel);
  return std::unique_ptr<engine::Operation>(operation);
}

void attach(MPI_Request request, std::unique_ptr<engine::Operation> operation) {
  if (!operation->persistent) {
    // A send that is complete must have no entry: an MPI gives one and the same handle to all sends that complete at once.
    // Receives are not asked: MPICH would raise their errors here, and through the wrong communicator's handler.
    int done = 0;
    MPI_Status status;
    if (operation->kind != OperationKind::receive &&
        context->own.Request_get_status(request, &done, &status) == MPI_SUCCESS && done) {
      forget_request(MPI_SUCCESS, &request);
      return;
    }
    operation->active = true;
  }
  operation->key = key_of(request);
  const auto key = operation->key;
  delete context->operations.insert(key, operation.release());
}

namespace {

/// Before the MPI starts a persistent operation of ours.
void prepare(engine::Operation* operation) {
  if (operation && operation->kind == OperationKind::send) operation->gather();
}

void started(engine::Operation* operation) {
  if (!operation) return;
  operation->active = true;
  operation->delivered = false;
}

}  // namespace

int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request) {
  progress_orphans();
  auto* operation = request ? context->operations.find(key_of(*request)) : nullptr;
  prepare(operation);
  const int rc = next(request);
  if (rc == MPI_SUCCESS) started(operation);
  return rc;
}

int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests) {
  progress_orphans();
  const bool ours = !context->operations.empty() && requests;
  for (int i = 0; ours && i < count; ++i) prepare(context->operations.find(key_of(requests[i])));
  const int rc = next(count, requests);
  for (int i = 0; ours && rc == MPI_SUCCESS && i < count; ++i) started(context->operations.find(key_of(requests[i])));
  return rc;
}

}  // namespace dunnage::calls
