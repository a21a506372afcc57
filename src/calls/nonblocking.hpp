// Nonblocking and persistent point-to-point. The user's request is the MPI's own; what is to be done at its
// completion stands in a table beside it (calls/completion.cpp).
#pragma once

#include "calls/accept.hpp"
#include "calls/orphans.hpp"
#include "calls/progress.hpp"
#include "calls/staged_call.hpp"
#include "calls/tickets.hpp"

namespace dunnage::calls {

using OperationKind = engine::Operation::Kind;

/// A new operation, with the memory of its message; null (and `accepted` cleared) where there is no memory.
std::unique_ptr<engine::Operation> new_operation(Hook hook, Accepted& accepted, OperationKind kind, const void* user,
                                                 bool persistent, Message& message);
/// For a receive into the user's buffer, where that may meet a ticket; else null.
std::unique_ptr<engine::Operation> watch_receive(void* user, std::int64_t count, MPI_Datatype type, int source, MPI_Comm comm, bool persistent);
/// For the request of a ticket.
std::unique_ptr<engine::Operation> ticket_operation(TicketedSend& ticketed, const transport::shm::Outgoing& outgoing, MPI_Comm comm);
/// A persistent send, whose request the MPI has made, may go by ticket at each start. `begin`: how.
void repeat_by_ticket(Hook hook, decltype(OwnTable::Isend) begin, MPI_Request request, const TicketRoute& route, const void* buffer, int dest,
                      int tag, MPI_Comm comm);
/// Ties an operation to the request that the MPI has just returned.
void attach(MPI_Request request, std::unique_ptr<engine::Operation> operation);
/// Ties copies to the request that the MPI has just returned. Those of what has ended already are delivered at once. Returns what the call is to return. `operation`: what else
/// is to be done then.
int follow(std::shared_ptr<engine::Copies> copies, const ErrorsOf& errors, MPI_Request* request, bool persistent, std::unique_ptr<engine::Operation> operation = nullptr);
/// A request of an operation that is not ours: whatever was known under a recycled handle is void.
inline void forget_request(int rc, const MPI_Request* request) {
  if (rc != MPI_SUCCESS || context->operations.empty()) return;
  const auto alone = no_progress();
  delete context->operations.erase(key_of(*request));
}

/// After the MPI has begun what may have to be watched. Returns `rc`.
inline int watch(int rc, MPI_Request* request, std::unique_ptr<engine::Operation> watched) {
  if (rc == MPI_SUCCESS && watched)
    attach(*request, std::move(watched));
  else
    forget_request(rc, request);
  return rc;
}

/// Nothing of ours in this call, nor behind any request.
inline bool goes_straight_through_with_request(plan::Operation operation, const void* buffer, std::int64_t count, MPI_Datatype type) {
  return goes_straight_through(operation, buffer, count, type) && context->operations.empty();
}

/// The common part: `start(buffer, count, type)` calls the MPI. `watched`: what is to be done where the data is left to it.
template <class Count, class Start>
int begin(Hook hook, OperationKind kind, bool persistent, const void* buf, Count count, MPI_Datatype datatype, int peer, MPI_Comm comm,
          MPI_Request* request, Start&& start) {
  const auto direction = kind == OperationKind::send ? operation_of(hook) : plan::Operation::receive;
  auto accepted = accept_message(hook, direction, buf, count, datatype, peer, comm);
  Message message = accepted ? stage(hook, direction, accepted) : Message();
  auto operation = message ? new_operation(hook, accepted, kind, buf, persistent, message) : nullptr;
  if (accepted.error != MPI_SUCCESS) return raise(comm, accepted.error);
  if (!operation) {
    auto watched = kind == OperationKind::receive ? watch_receive(const_cast<void*>(buf), count, datatype, peer, comm, persistent) : nullptr;
    const int rc = start(const_cast<void*>(buf), count, datatype);
    return watch(rc, request, std::move(watched));
  }
  operation->comm = key_of(comm);
  if (kind == OperationKind::receive) operation->sender = asked_for_tickets(accepted.bytes(), peer, comm);
  const Accelerated counted(hook, accepted.bytes());
  if (kind == OperationKind::send && !persistent)
    if (const int failed = gather(operation->parcel, operation->content); failed != MPI_SUCCESS) return raise(comm, failed);
  const int rc = start(operation->parcel.data(), message.count<Count>(), message.type.handle());
  if (rc == MPI_SUCCESS) attach(*request, std::move(operation));
  return rc;
}

template <class Count, class Start>
[[gnu::noinline]] int begin_send(Hook hook, bool persistent, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag,
                                 MPI_Comm comm, MPI_Request* request, Start&& start) {
  progress_orphans();
  const bool buffered = operation_of(hook) == plan::Operation::buffered_send;
  if (!persistent && !buffered)
    if (auto ticketed = ticketed_send(hook, buf, count, datatype, dest, tag, comm)) {
      const Accelerated counted(hook, ticketed.bytes(), true);
      const auto& message = ticketed.message();
      const int rc = ticketed.gpu() ? context->own.Issend(message.data(), message.template count<int>(), message.type.handle(), dest, tag, comm, request)
                                    : start(message.data(), message.template count<Count>(), message.type.handle());
      if (rc != MPI_SUCCESS) return rc;
      const auto outgoing = ticketed.pack(buf, *request);
      if (const int failed = ticketed.error(); failed != MPI_SUCCESS) {
        adopt_orphan(*request, ticket_operation(ticketed, {}, comm));  // its ticket must still be received
        *request = MPI_REQUEST_NULL;
        return raise(comm, failed);
      }
      attach(*request, ticket_operation(ticketed, outgoing, comm));
      return rc;
    }
  if (buffered) avoid_length(count, datatype, dest, comm);
  std::optional<TicketRoute> route;
  const bool synchronous = hook == Hook::MPI_Ssend_init || hook == Hook::MPI_Ssend_init_c;
  if (persistent && !buffered) route = ticket_route(buf, count, datatype, dest, comm);
  const int rc = begin(hook, OperationKind::send, persistent, buf, count, datatype, dest, comm, request, start);
  if (rc == MPI_SUCCESS && route && !route->far) repeat_by_ticket(hook, synchronous || route->gpu.direct() ? context->own.Issend : context->own.Isend, *request, *route, buf, dest, tag, comm);
  return rc;
}

template <class Count, class Start>
[[gnu::noinline]] int begin_receive(Hook hook, bool persistent, void* buf, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                                    MPI_Request* request, Start&& start) {
  progress_orphans();
  answer_letters();
  return begin(hook, OperationKind::receive, persistent, buf, count, datatype, source, comm, request, start);
}

template <class Fn, class Count>
int isend(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  if (goes_straight_through_with_request(plan::Operation::send, buf, count, datatype)) return next(buf, count, datatype, dest, tag, comm, request);
  return begin_send(hook, false, buf, count, datatype, dest, tag, comm, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, dest, tag, comm, request); });
}

template <class Fn, class Count>
int ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Request* request) {
  if (goes_straight_through_with_request(plan::Operation::receive, buf, count, datatype)) return next(buf, count, datatype, source, tag, comm, request);
  return begin_receive(hook, false, buf, count, datatype, source, comm, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, source, tag, comm, request); });
}

template <class Fn, class Count>
int matched_ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                     MPI_Request* request) {
  const int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  // A message does not say which communicator it came by.
  return begin_receive(hook, false, buf, count, datatype, source, MPI_COMM_WORLD, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, message, request); });
}

template <class Fn, class Count>
int send_init(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return begin_send(hook, true, buf, count, datatype, dest, tag, comm, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, dest, tag, comm, request); });
}

template <class Fn, class Count>
int receive_init(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  return begin_receive(hook, true, buf, count, datatype, source, comm, request,
               [&](void* b, Count n, MPI_Datatype t) { return next(b, n, t, source, tag, comm, request); });
}

/// Left to the MPI, but what it receives may be a ticket.
template <class Fn, class Count>
int isendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
              Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  progress_orphans();
  answer_letters();
  StagedCall call(hook, errors_of_comm(comm), comm, true, {});
  sendbuf = call.send(sendbuf, blocks(beyond_null(dest), sendcount, sendtype));
  recvbuf = call.update(recvbuf, blocks(beyond_null(source), recvcount, recvtype));
  if (!call.ready()) return call.error();
  avoid_length(sendcount, sendtype, dest, comm);
  auto watched = watch_receive(recvbuf, recvcount, recvtype, source, comm, false);
  const int rc = next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request);
  return call.staged() ? call.begun(rc, request, false, std::move(watched)) : watch(rc, request, std::move(watched));
}
template <class Fn, class Count>
int isendrecv_replace(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                      MPI_Comm comm, MPI_Request* request) {
  progress_orphans();
  answer_letters();
  StagedCall call(hook, errors_of_comm(comm), comm, true, {});
  buf = call.update(buf, one(count, datatype));
  if (!call.ready()) return call.error();
  avoid_length(count, datatype, dest, comm);
  auto watched = watch_receive(buf, count, datatype, source, comm, false);
  const int rc = next(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);
  return call.staged() ? call.begun(rc, request, false, std::move(watched)) : watch(rc, request, std::move(watched));
}

int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request);
int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests);

}  // namespace dunnage::calls
