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

std::unique_ptr<engine::Operation> watch_receive(void* user, std::int64_t count, MPI_Datatype type, int source, MPI_Comm comm, bool persistent) {
  if (!context->world || source == MPI_PROC_NULL || count <= 0 || !user) return nullptr;
  const auto* known = known_type(type);
  MPI_Count size = known ? known->bytes() : 0;
  if (size == 0 && (type == MPI_DATATYPE_NULL || context->own.Type_size_x(type, &size) != MPI_SUCCESS)) return nullptr;
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(count, static_cast<std::int64_t>(size), &bytes) && !tickets_concern(bytes)) return nullptr;
  auto operation = std::make_unique<engine::Operation>();
  operation->kind = OperationKind::in_place;
  operation->persistent = persistent;
  operation->user = user;
  operation->comm = key_of(comm);
  operation->kept = std::make_shared<Landing>(Landing::in_place(user, count, type));
  return operation;
}

std::unique_ptr<engine::Operation> ticket_operation(TicketedSend& ticketed, const transport::shm::Outgoing& outgoing) {
  auto operation = std::make_unique<engine::Operation>();
  operation->kind = OperationKind::ticket;
  operation->parcel = ticketed.take_parcel();
  operation->kept = std::make_shared<transport::shm::Outgoing>(outgoing);
  return operation;
}

void attach(MPI_Request request, std::unique_ptr<engine::Operation> operation) {
  if (!operation->persistent) {
    // A send that is complete must have no entry: an MPI gives one and the same handle to all sends that complete at once.
    // Receives are not asked: MPICH would raise their errors here, and through the wrong communicator's handler.
    int done = 0;
    MPI_Status status;
    if (!operation->receives() &&
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
  operation->bytes = -1;
  operation->error = MPI_SUCCESS;
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
