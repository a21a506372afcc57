// Blocking point-to-point. A packed message travels as MPI_PACKED, which the standard lets match any type, or as two
// blocks of it (calls/packed_type.hpp).
#pragma once

#include "calls/accept.hpp"
#include "calls/orphans.hpp"
#include "calls/status.hpp"
#include "calls/tickets.hpp"

namespace dunnage::calls {

/// How a blocking send by ticket begins: nonblocking, so that the data is packed while the ticket travels. Null for buffered
/// sends, which the program gave memory of its own.
inline auto begin_ticket(Hook hook) -> decltype(OwnTable::Isend) {
  switch (hook) {
    case Hook::MPI_Send: case Hook::MPI_Send_c: case Hook::MPI_Rsend: case Hook::MPI_Rsend_c: return context->own.Isend;
    case Hook::MPI_Ssend: case Hook::MPI_Ssend_c: return context->own.Issend;
    default: return nullptr;
  }
}

/// After the ticket of a send has left: data in a GPU's memory are the program's again when it returns. Returns what the send is to return.
inline int finish(const transport::shm::Outgoing& outgoing, const TicketedSend& ticketed, MPI_Comm comm) {
  int rc = ticketed.error();
#ifdef DUNNAGE_CUDA
  if (const auto gpu = ticketed.gpu()) rc = gpu_finish(outgoing, gpu);
#else
  (void)outgoing;
#endif
  return rc == MPI_SUCCESS ? rc : raise(comm, rc);
}

/// After a receive into staging memory: puts what came where the user wants it. Returns what the receive is to return.
inline int settle(const Message& message, const Accepted& accepted, MPI_Status& status, MPI_Comm comm) {
  auto bytes = received_bytes(status);
  auto landing = Landing::staged(message.parcel, accepted.content);
  if (const auto rc = redeem(landing, bytes, status)) return *rc == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, *rc);
  tell_scatters(bytes, asked_for_tickets(bytes, status.MPI_SOURCE, comm));
  const int rc = deliver(message.parcel, accepted.content, bytes);
  return rc == MPI_SUCCESS ? rc : raise(comm, rc);
}

/// After a receive into the user's buffer, where there may be tickets.
inline int settle_in_place(void* user, std::int64_t count, MPI_Datatype type, MPI_Status& status, MPI_Comm comm) try {
  auto bytes = received_bytes(status);
  if (!may_be_ticket(bytes)) return MPI_SUCCESS;
  auto landing = Landing::in_place(user, count, type);
  const auto rc = redeem(landing, bytes, status);
  return !rc || *rc == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, *rc);
} catch (const std::exception&) {
  return raise(comm, MPI_ERR_NO_MEM);
}

/// Contiguous data with room for a ticket, and nothing else to do for us.
inline bool meets_tickets_only(const void* buffer, std::int64_t count, MPI_Datatype type) {
  if (!surely_host(buffer) || context->attention.load(std::memory_order_relaxed) || !context->world || count <= 0) return false;
  const auto* known = known_type(type);
  return known && known->reason() == plan::Reason::contiguous && known->bytes() != 0;
}

template <class Fn, class Count>
[[gnu::noinline]] int staged_send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  progress_orphans();
  const auto begin = begin_ticket(hook);
  const auto route = begin ? ticket_route(buf, count, datatype, dest, comm) : std::nullopt;
  if (route && route->far) {
    if (const auto rc = send_in_pieces(hook, *route, buf, dest, tag, comm)) return *rc;
  } else if (route) {
    if (auto ticketed = ticketed_send(hook, *route, buf, tag)) {
      const Accelerated counted(hook, ticketed.bytes(), true);
      MPI_Request request = MPI_REQUEST_NULL;
      const auto& message = ticketed.message();
      const auto start = ticketed.gpu() ? context->own.Issend : begin;  // the receiver is waited for
      int rc = start(message.data(), message.template count<int>(), message.type.handle(), dest, tag, comm, &request);
      if (rc != MPI_SUCCESS) return rc;
      const auto outgoing = ticketed.pack(buf, request);
      rc = context->own.Wait(&request, MPI_STATUS_IGNORE);
      const int finished = finish(outgoing, ticketed, comm);  // whatever the MPI says: the receiver may be reading
      return rc == MPI_SUCCESS ? finished : rc;
    }
  }
  if (!begin) avoid_length(count, datatype, dest, comm);
  auto accepted = accept_message(hook, operation_of(hook), buf, count, datatype, dest, comm);
  const Message message = accepted ? stage(hook, plan::Operation::send, accepted) : Message();
  if (accepted.error != MPI_SUCCESS) return raise(comm, accepted.error);
  if (!accepted) return next(buf, count, datatype, dest, tag, comm);
  const Accelerated counted(hook, accepted.bytes());
  if (const int rc = gather(message.parcel, accepted.content); rc != MPI_SUCCESS) return raise(comm, rc);
  return next(message.data(), message.count<Count>(), message.type.handle(), dest, tag, comm);
}

/// The common part of the receives: `call(buffer, count, type, status)` calls the MPI. `comm`: for errors of our own.
template <class Count, class Call>
[[gnu::noinline]] int staged_receive(Hook hook, void* buf, Count count, MPI_Datatype datatype, int source, MPI_Comm comm,
                                     MPI_Status* users, Call&& call) {
  progress_orphans();
  answer_letters();
  auto accepted = accept_message(hook, plan::Operation::receive, buf, count, datatype, source, comm);
  const Message message = accepted ? stage(hook, plan::Operation::receive, accepted) : Message();
  if (accepted.error != MPI_SUCCESS) return raise(comm, accepted.error);
  if (!accepted) {
    if (!context->world) return call(buf, count, datatype, users);
    StatusOr status(users);
    const int rc = call(buf, count, datatype, status.get());
    if (rc != MPI_SUCCESS || source == MPI_PROC_NULL) return rc;
    return settle_in_place(buf, count, datatype, *status.get(), comm);
  }
  const Accelerated counted(hook, accepted.bytes());
  StatusOr status(users);
  const int rc = call(message.data(), message.count<Count>(), message.type.handle(), status.get());
  if (rc != MPI_SUCCESS) return rc;
  return settle(message, accepted, *status.get(), comm);
}

template <class Fn, class Count>
int send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (goes_straight_through(plan::Operation::send, buf, count, datatype)) return next(buf, count, datatype, dest, tag, comm);
  return staged_send(hook, next, buf, count, datatype, dest, tag, comm);
}

template <class Fn, class Count>
int receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Status* status) {
  if (goes_straight_through(plan::Operation::receive, buf, count, datatype)) return next(buf, count, datatype, source, tag, comm, status);
  if (meets_tickets_only(buf, count, datatype)) {
    see_host_message();
    answer_letters();
    StatusOr there(status);
    const int rc = next(buf, count, datatype, source, tag, comm, there.get());
    if (rc != MPI_SUCCESS || !may_be_ticket(told_bytes(*there)) || source == MPI_PROC_NULL) return rc;
    return settle_in_place(buf, count, datatype, *there.get(), comm);
  }
  return staged_receive(hook, buf, count, datatype, source, comm, status,
                        [&](void* b, Count n, MPI_Datatype t, MPI_Status* s) { return next(b, n, t, source, tag, comm, s); });
}

template <class Fn, class Count>
int matched_receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  const int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
  // A message does not say which communicator it came by.
  return staged_receive(hook, buf, count, datatype, source, MPI_COMM_WORLD, status,
                        [&](void* b, Count n, MPI_Datatype t, MPI_Status* s) { return next(b, n, t, message, s); });
}

/// Either side may be ours, both, or none.
template <class Fn, class Count>
[[gnu::noinline]] int staged_sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* users) {
  progress_orphans();
  answer_letters();
  auto ticketed = ticketed_send(hook, sendbuf, sendcount, sendtype, dest, sendtag, comm);
  auto out = ticketed ? Accepted() : accept_message(hook, plan::Operation::send, sendbuf, sendcount, sendtype, dest, comm);
  auto in = accept_message(hook, plan::Operation::receive, recvbuf, recvcount, recvtype, source, comm);
  const Message out_message = out ? stage(hook, plan::Operation::send, out) : Message();
  const Message in_message = in ? stage(hook, plan::Operation::receive, in) : Message();
  if (const int error = out.error != MPI_SUCCESS ? out.error : in.error; error != MPI_SUCCESS) return raise(comm, error);
  if (!ticketed && !out && !in && !context->world)
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, users);
  std::optional<Accelerated> counted;
  if (ticketed || out || in)
    counted.emplace(hook, (ticketed ? ticketed.bytes() : out ? out.bytes() : 0) + (in ? in.bytes() : 0), static_cast<bool>(ticketed));
  const auto* message = ticketed ? &ticketed.message() : out ? &out_message : nullptr;
  if (out)
    if (const int rc = gather(out_message.parcel, out.content); rc != MPI_SUCCESS) return raise(comm, rc);
  // The MPI keeps us until it has both messages, so all data is packed before.
  const auto outgoing = ticketed ? ticketed.pack(sendbuf, MPI_REQUEST_NULL) : transport::shm::Outgoing();
  if (message) {
    sendbuf = message->data();
    sendcount = message->template count<Count>();
    sendtype = message->type.handle();
  }
  StatusOr status(users);
  void* to = in ? in_message.data() : recvbuf;
  const int rc = next(sendbuf, sendcount, sendtype, dest, sendtag, to, in ? in_message.count<Count>() : recvcount,
                      in ? in_message.type.handle() : recvtype, source, recvtag, comm, status.get());
  int result = rc;
  if (rc == MPI_SUCCESS && source != MPI_PROC_NULL) {
    if (in)
      result = settle(in_message, in, *status.get(), comm);
    else if (context->world)
      result = settle_in_place(recvbuf, recvcount, recvtype, *status.get(), comm);
  }
  const int sent = finish(outgoing, ticketed, comm);
  return result == MPI_SUCCESS ? sent : result;
}

template <class Fn, class Count>
int sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* status) {
  if (goes_straight_through(plan::Operation::send, sendbuf, sendcount, sendtype) &&
      goes_straight_through(plan::Operation::receive, recvbuf, recvcount, recvtype))
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  return staged_sendrecv(hook, next, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                         recvtag, comm, status);
}

template <class Fn, class Count>
int sendrecv_replace(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* users) {
  progress_orphans();
  answer_letters();
  // With a null process on one side there is one message; the MPI knows what that means. Otherwise both directions
  // must be trusted with packed bytes.
  const bool receives = source != MPI_PROC_NULL;
  avoid_length(count, datatype, dest, comm);
  auto accepted = accept_message(hook, receives ? plan::Operation::receive : plan::Operation::send, buf, count, datatype,
                                 receives ? source : dest, comm);
  if (accepted && receives && dest != MPI_PROC_NULL)
    accepted = accept_message(hook, plan::Operation::send, buf, count, datatype, dest, comm);
  const Message message = accepted ? stage(hook, plan::Operation::send, accepted, true) : Message();
  if (accepted.error != MPI_SUCCESS) return raise(comm, accepted.error);
  StatusOr status(users);
  if (!accepted) {
    if (!context->world) return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, users);
    const int rc = next(buf, count, datatype, dest, sendtag, source, recvtag, comm, status.get());
    if (rc != MPI_SUCCESS || !receives) return rc;
    return settle_in_place(buf, count, datatype, *status.get(), comm);
  }
  const Accelerated counted(hook, accepted.bytes());
  if (const int rc = gather(message.parcel, accepted.content); rc != MPI_SUCCESS) return raise(comm, rc);
  const int rc = next(message.data(), message.count<Count>(), message.type.handle(), dest, sendtag, source, recvtag, comm,
                      status.get());
  if (rc != MPI_SUCCESS || !receives) return rc;
  return settle(message, accepted, *status.get(), comm);
}

}  // namespace dunnage::calls
