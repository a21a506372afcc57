#include "calls/nonblocking.hpp"

#include "calls/arrival.hpp"

namespace dunnage::calls {

std::unique_ptr<engine::Operation> new_operation(Hook hook, Accepted& accepted, OperationKind kind, const void* user,
                                                 bool persistent, Message& message) {
  auto* operation = new (std::nothrow) engine::Operation{};
  if (!operation) {
    context->count(hook, plan::Reason::no_memory);
    accepted.content = {};
    return nullptr;
  }
  operation->kind = kind;
  operation->persistent = persistent;
  operation->content = accepted.content;
  operation->user = const_cast<void*>(user);
  operation->parcel = std::move(message.parcel);
  return std::unique_ptr<engine::Operation>(operation);
}

std::unique_ptr<engine::Operation> watch_receive(void* user, std::int64_t count, MPI_Datatype type, int source, MPI_Comm comm, bool persistent) {
  if (!context->world || source == MPI_PROC_NULL || count <= 0) return nullptr;
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
  try {
    operation->kept = std::make_shared<Landing>(Landing::in_place(user, count, type));
  } catch (const std::exception&) {
    return nullptr;  // no memory: nothing can be done where a ticket comes
  }
  return operation;
}

std::unique_ptr<engine::Operation> ticket_operation(TicketedSend& ticketed, const transport::shm::Outgoing& outgoing, MPI_Comm comm) {
  auto operation = std::make_unique<engine::Operation>();
  auto kept = std::make_shared<TicketOperation>();
  kept->outgoing = outgoing;
  kept->parcel = ticketed.take_parcel();
  kept->gpu = ticketed.gpu();
  kept->error = ticketed.error();
  kept->memory = ticketed.take_memory();
  operation->comm = key_of(comm);
  operation->kind = OperationKind::ticket;
  operation->kept = std::move(kept);
  return operation;
}

void repeat_by_ticket(Hook hook, decltype(OwnTable::Isend) begin, MPI_Request request, const TicketRoute& route, const void* buffer, int dest,
                      int tag, MPI_Comm comm) {
  auto kept = std::make_shared<TicketOperation>();
  kept->route = route;
  kept->comm = comm;
  kept->dest = dest;
  kept->tag = tag;
  kept->begin = begin;
  kept->hook = hook;
  auto* operation = context->operations.find(key_of(request));
  if (!operation) {
    auto made = std::make_unique<engine::Operation>();
    operation = made.get();
    operation->persistent = true;
    operation->user = const_cast<void*>(buffer);
    attach(request, std::move(made));
  }
  operation->kind = OperationKind::ticket;
  operation->kept = std::move(kept);
}

int follow(std::shared_ptr<engine::Copies> copies, const ErrorsOf& errors, MPI_Request* request, bool persistent, std::unique_ptr<engine::Operation> operation) {
  // What is complete must have no entry: an MPI gives one and the same handle to all that complete at once.
  int done = 0;
  MPI_Status status;
  if (!persistent && !operation && context->own.Request_get_status(*request, &done, &status) == MPI_SUCCESS && done) {
    forget_request(MPI_SUCCESS, request);
    const int failed = copies->deliver();
    return failed == MPI_SUCCESS ? failed : raise(errors, failed);
  }
  if (!operation) {
    operation = std::make_unique<engine::Operation>();
    operation->kind = OperationKind::memory;
  }
  operation->persistent = persistent;
  operation->copies = std::move(copies);
  operation->comm = errors.key;
  operation->object = errors.object;
  attach(*request, std::move(operation));
  return MPI_SUCCESS;
}

void attach(MPI_Request request, std::unique_ptr<engine::Operation> operation) {
  if (!operation->persistent) {
    // A send that is complete must have no entry: an MPI gives one and the same handle to all sends that complete at once.
    // Receives are not asked: MPICH would raise their errors here, and through the wrong communicator's handler. Neither are tickets of data in a
    // GPU's memory, which are synchronous sends, with handles of their own: their receivers would have to be waited for here.
    int done = 0;
    MPI_Status status;
    const auto* ticket = ticket_of(*operation);
    if (!operation->brings() && !(ticket && ticket->gpu) &&
        context->own.Request_get_status(request, &done, &status) == MPI_SUCCESS && done) {
      forget_request(MPI_SUCCESS, &request);
      return;
    }
    operation->active = true;
  }
  operation->key = key_of(request);
  auto* const kept = operation.get();
  {
    const auto alone = no_progress();
    delete context->operations.insert(kept->key, operation.release());
  }
  look_after(*kept);
}

namespace {

/// Before the MPI starts a persistent operation of ours. Whether it need not be started, since a send by ticket has taken its place;
/// `rc` is then what that returned.
bool prepare(engine::Operation* operation, int& rc) {
  if (!operation) return false;
  if (operation->copies) {
    rc = operation->copies->gather();
    if (rc != MPI_SUCCESS) raise(errors_of(*operation), rc);
    return rc != MPI_SUCCESS;
  }
  if (operation->receives()) return false;
  if (auto* kept = ticket_of(*operation)) {
    if (auto ticketed = ticketed_send(kept->hook, kept->route, operation->user, kept->tag)) {
      const Accelerated counted(kept->hook, ticketed.bytes(), true);
      MPI_Request inner = MPI_REQUEST_NULL;
      const auto& message = ticketed.message();
      rc = kept->begin(message.data(), message.count<int>(), message.type.handle(), kept->dest, kept->tag, kept->comm, &inner);
      if (rc != MPI_SUCCESS) return true;
      kept->outgoing = ticketed.pack(operation->user, inner);
      kept->parcel = ticketed.take_parcel();
      kept->gpu = ticketed.gpu();
      kept->error = ticketed.error();
      kept->memory = ticketed.take_memory();
      operation->inner = key_of(inner);
      operation->by_ticket = true;
      return true;
    }
  }
  if (operation->parcel) rc = gather(operation->parcel, operation->content);
  if (rc != MPI_SUCCESS) raise(errors_of(*operation), rc);
  return rc != MPI_SUCCESS;
}

/// `request`: as the MPI has left it. Some give another handle for what is still under way inside.
void started(engine::Operation* operation, MPI_Request request) {
  if (!operation) return;
  operation->active = true;
  operation->delivered = false;
  operation->bytes = -1;
  operation->error = MPI_SUCCESS;
  if (operation->copies) operation->copies->begun(true);
  if (!operation->by_ticket && key_of(request) != operation->key) {
    context->operations.erase(operation->key);
    operation->key = key_of(request);
    delete context->operations.insert(operation->key, operation);
  }
  look_after(*operation);
}

/// Before the MPI would have started it, or after it has not.
void not_started(const engine::Operation* operation) {
  if (operation && operation->copies) operation->copies->begun(false);
}

}  // namespace

int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request) {
  progress_orphans();
  auto* operation = request ? context->operations.find(key_of(*request)) : nullptr;
  int rc = MPI_SUCCESS;
  if (!prepare(operation, rc)) rc = next(request);
  if (rc != MPI_SUCCESS)
    not_started(operation);
  else if (request)
    started(operation, *request);
  return rc;
}

int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests) {
  progress_orphans();
  if (context->operations.empty() || !requests || count <= 0) return next(count, requests);
  std::vector<engine::Operation*> operations(static_cast<std::size_t>(count));
  std::vector<int> others;  // that are left to the MPI
  int rc = MPI_SUCCESS;
  for (int i = 0; rc == MPI_SUCCESS && i < count; ++i) {
    auto*& operation = operations[static_cast<std::size_t>(i)];
    operation = context->operations.find(key_of(requests[i]));
    if (!prepare(operation, rc))
      others.push_back(i);
    else if (rc == MPI_SUCCESS)
      started(operation, requests[i]);
  }
  if (rc != MPI_SUCCESS)
    for (const auto* operation : operations)
      if (operation && !operation->active) not_started(operation);
  if (rc != MPI_SUCCESS || others.empty()) return rc;
  if (static_cast<int>(others.size()) == count) {
    rc = next(count, requests);
  } else {
    std::vector<MPI_Request> some;
    for (const int i : others) some.push_back(requests[i]);
    rc = next(static_cast<int>(some.size()), some.data());
    for (std::size_t k = 0; k < others.size(); ++k) requests[others[k]] = some[k];
  }
  for (const int i : others) {
    auto* operation = operations[static_cast<std::size_t>(i)];
    rc == MPI_SUCCESS ? started(operation, requests[i]) : not_started(operation);
  }
  return rc;
}

}  // namespace dunnage::calls
