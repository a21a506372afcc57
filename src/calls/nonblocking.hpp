// Nonblocking and persistent point-to-point. The user's request is the MPI's own; what is to be done at its
// completion stands in a table beside it (calls/completion.cpp).
#pragma once

#include "calls/accept.hpp"
#include "calls/orphans.hpp"

namespace dunnage::calls {

using OperationKind = engine::Operation::Kind;

/// A new operation, with the memory of its message; null (and `accepted` cleared) where there is no memory.
std::unique_ptr<engine::Operation> new_operation(Hook hook, Accepted& accepted, OperationKind kind, const void* user,
                                                 bool persistent, Message& message);
/// Ties an operation to the request that the MPI has just returned.
void attach(MPI_Request request, std::unique_ptr<engine::Operation> operation);
/// A request of an operation that is not ours: whatever was known under a recycled handle is void.
inline void forget_request(int rc, const MPI_Request* request) {
  if (rc == MPI_SUCCESS && !context->operations.empty()) delete context->operations.erase(key_of(*request));
}

/// Nothing of ours in this call, nor behind any request.
inline bool goes_straight_through_with_request(plan::Operation operation, std::int64_t count, MPI_Datatype type) {
  return goes_straight_through(operation, count, type) && context->operations.empty();
}

/// The common part: `start(buffer, count, type)` calls the MPI.
template <class Count, class Start>
[[gnu::noinline]] int begin(Hook hook, OperationKind kind, bool persistent, const void* buf, Count count, MPI_Datatype datatype, int peer,
          MPI_Request* request, Start&& start) {
  progress_orphans();
  const auto direction = kind == OperationKind::send ? plan::Operation::send : plan::Operation::receive;
  auto accepted = accept_message(hook, direction, buf, count, datatype, peer);
  Message message = accepted ? stage(hook, direction, accepted) : Message();
  auto operation = message ? new_operation(hook, accepted, kind, buf, persistent, message) : nullptr;
  if (!operation) {
    const int rc = start(const_cast<void*>(buf), count, datatype);
    forget_request(rc, request);
    return rc;
  }
  const Accelerated counted(hook, accepted.bytes());
  if (kind == OperationKind::send && !persistent) operation->gather();
  const int rc = start(operation->parcel.data(), message.count<Count>(), message.type.handle());
  if (rc == MPI_SUCCESS) attach(*request, std::move(operation));
  return rc;
}

template <class Fn, class Count>
int isend(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  if (goes_straight_through_with_request(plan::Operation::send, count, datatype)) return next(buf, count, datatype, dest, tag, comm, request);
  return begin(hook, OperationKind::send, false, buf, count, datatype, dest, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, dest, tag, comm, request); });
}

template <class Fn, class Count>
int ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Request* request) {
  if (goes_straight_through_with_request(plan::Operation::receive, count, datatype)) return next(buf, count, datatype, source, tag, comm, request);
  return begin(hook, OperationKind::receive, false, buf, count, datatype, source, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, source, tag, comm, request); });
}

template <class Fn, class Count>
int matched_ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                     MPI_Request* request) {
  const int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;
  return begin(hook, OperationKind::receive, false, buf, count, datatype, source, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, message, request); });
}

template <class Fn, class Count>
int send_init(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return begin(hook, OperationKind::send, true, buf, count, datatype, dest, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, dest, tag, comm, request); });
}

template <class Fn, class Count>
int receive_init(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  return begin(hook, OperationKind::receive, true, buf, count, datatype, source, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, source, tag, comm, request); });
}

int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request);
int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests);

}  // namespace dunnage::calls
