// Blocking point-to-point. A packed message travels as MPI_PACKED, which the standard lets match any type, or as two
// blocks of it (calls/packed_type.hpp).
#pragma once

#include "calls/accept.hpp"
#include "calls/orphans.hpp"
#include "calls/status.hpp"

namespace dunnage::calls {

inline void deliver(const pack::Program& program, const Message& message, void* user, const MPI_Status& status) {
  message.parcel.deliver(program, user, received_bytes(status));
}

template <class Fn, class Count>
[[gnu::noinline]] int staged_send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  progress_orphans();
  auto accepted = accept_message(hook, plan::Operation::send, buf, count, datatype, dest);
  const Message message = accepted ? stage(hook, plan::Operation::send, accepted) : Message();
  if (!accepted) return next(buf, count, datatype, dest, tag, comm);
  const Accelerated counted(hook, accepted.bytes());
  message.parcel.gather(*accepted.program, buf);
  return next(message.data(), message.count<Count>(), message.type.handle(), dest, tag, comm);
}

/// The common part of the receives: `call(buffer, count, type, status)` calls the MPI.
template <class Count, class Call>
[[gnu::noinline]] int staged_receive(Hook hook, void* buf, Count count, MPI_Datatype datatype, int source,
                                     MPI_Status* users, Call&& call) {
  progress_orphans();
  auto accepted = accept_message(hook, plan::Operation::receive, buf, count, datatype, source);
  const Message message = accepted ? stage(hook, plan::Operation::receive, accepted) : Message();
  if (!accepted) return call(buf, count, datatype, users);
  const Accelerated counted(hook, accepted.bytes());
  StatusOr status(users);
  const int rc = call(message.data(), message.count<Count>(), message.type.handle(), status.get());
  if (rc == MPI_SUCCESS) deliver(*accepted.program, message, buf, *status);
  return rc;
}

template <class Fn, class Count>
int send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (goes_straight_through(plan::Operation::send, count, datatype)) return next(buf, count, datatype, dest, tag, comm);
  return staged_send(hook, next, buf, count, datatype, dest, tag, comm);
}

template <class Fn, class Count>
int receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Status* status) {
  if (goes_straight_through(plan::Operation::receive, count, datatype)) return next(buf, count, datatype, source, tag, comm, status);
  return staged_receive(hook, buf, count, datatype, source, status,
                        [&](void* b, Count n, MPI_Datatype t, MPI_Status* s) { return next(b, n, t, source, tag, comm, s); });
}

template <class Fn, class Count>
int matched_receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  const int source = message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : 0;
  return staged_receive(hook, buf, count, datatype, source, status,
                        [&](void* b, Count n, MPI_Datatype t, MPI_Status* s) { return next(b, n, t, message, s); });
}

/// Either side may be ours, both, or none.
template <class Fn, class Count>
[[gnu::noinline]] int staged_sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* users) {
  progress_orphans();
  auto out = accept_message(hook, plan::Operation::send, sendbuf, sendcount, sendtype, dest);
  auto in = accept_message(hook, plan::Operation::receive, recvbuf, recvcount, recvtype, source);
  const Message out_message = out ? stage(hook, plan::Operation::send, out) : Message();
  const Message in_message = in ? stage(hook, plan::Operation::receive, in) : Message();
  if (!out && !in)
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, users);
  const Accelerated counted(hook, (out ? out.bytes() : 0) + (in ? in.bytes() : 0));
  if (out) {
    out_message.parcel.gather(*out.program, sendbuf);
    sendbuf = out_message.data();
    sendcount = out_message.count<Count>();
    sendtype = out_message.type.handle();
  }
  if (!in)
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, users);
  StatusOr status(users);
  const int rc = next(sendbuf, sendcount, sendtype, dest, sendtag, in_message.data(), in_message.count<Count>(),
                      in_message.type.handle(), source, recvtag, comm, status.get());
  if (rc == MPI_SUCCESS) deliver(*in.program, in_message, recvbuf, *status);
  return rc;
}

template <class Fn, class Count>
int sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* status) {
  if (goes_straight_through(plan::Operation::send, sendcount, sendtype) &&
      goes_straight_through(plan::Operation::receive, recvcount, recvtype))
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
  return staged_sendrecv(hook, next, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                         recvtag, comm, status);
}

template <class Fn, class Count>
int sendrecv_replace(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* users) {
  progress_orphans();
  // With a null process on one side there is one message; the MPI knows what that means. Otherwise both directions
  // must be trusted with packed bytes.
  const bool receives = source != MPI_PROC_NULL;
  auto accepted = accept_message(hook, receives ? plan::Operation::receive : plan::Operation::send, buf, count, datatype,
                                 receives ? source : dest);
  if (accepted && receives && dest != MPI_PROC_NULL)
    accepted = accept_message(hook, plan::Operation::send, buf, count, datatype, dest);
  const Message message = accepted ? stage(hook, plan::Operation::send, accepted, true) : Message();
  if (!accepted) return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, users);
  const Accelerated counted(hook, accepted.bytes());
  StatusOr status(users);
  message.parcel.gather(*accepted.program, buf);
  const int rc = next(message.data(), message.count<Count>(), message.type.handle(), dest, sendtag, source, recvtag, comm,
                      status.get());
  if (rc == MPI_SUCCESS) deliver(*accepted.program, message, buf, *status);
  return rc;
}

}  // namespace dunnage::calls
