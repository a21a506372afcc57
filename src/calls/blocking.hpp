// Blocking point-to-point. A packed message travels as MPI_PACKED, which the standard lets match any type.
#pragma once

#include "calls/accept.hpp"
#include "calls/orphans.hpp"
#include "calls/status.hpp"

namespace dunnage::calls {

/// Packs for the MPI, which reads the staging memory at once: it should be cached.
inline void gather(const pack::Program& program, const void* user, const engine::Staging& staging) {
  program.pack(user, staging.data(), 0, program.size(), pack::Stores::cached);
}

inline void deliver(const pack::Program& program, const engine::Staging& staging, void* user, const MPI_Status& status) {
  program.unpack(staging.data(), user, 0, std::min(received_bytes(status), program.size()), pack::Stores::cached);
}

template <class Fn, class Count>
[[gnu::noinline]] int staged_send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  progress_orphans();
  auto accepted = accept_message(hook, plan::Operation::send, buf, count, datatype, dest);
  const auto staging = accepted ? stage(hook, accepted) : engine::Staging();
  if (!accepted) return next(buf, count, datatype, dest, tag, comm);
  const Accelerated counted(hook, accepted.bytes());
  gather(*accepted.program, buf, staging);
  return next(staging.data(), static_cast<Count>(accepted.bytes()), MPI_PACKED, dest, tag, comm);
}

/// The common part of the receives: `call(buffer, count, type, status)` calls the MPI.
template <class Count, class Call>
[[gnu::noinline]] int staged_receive(Hook hook, void* buf, Count count, MPI_Datatype datatype, int source,
                                     MPI_Status* users, Call&& call) {
  progress_orphans();
  auto accepted = accept_message(hook, plan::Operation::receive, buf, count, datatype, source);
  const auto staging = accepted ? stage(hook, accepted) : engine::Staging();
  if (!accepted) return call(buf, count, datatype, users);
  const Accelerated counted(hook, accepted.bytes());
  StatusOr status(users);
  const int rc = call(staging.data(), static_cast<Count>(accepted.bytes()), MPI_PACKED, status.get());
  if (rc == MPI_SUCCESS) deliver(*accepted.program, staging, buf, *status);
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
int sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
             MPI_Status* users) {
  progress_orphans();
  auto out = accept_message(hook, plan::Operation::send, sendbuf, sendcount, sendtype, dest);
  auto in = accept_message(hook, plan::Operation::receive, recvbuf, recvcount, recvtype, source);
  const auto out_staging = out ? stage(hook, out) : engine::Staging();
  const auto in_staging = in ? stage(hook, in) : engine::Staging();
  if (!out && !in)
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, users);
  const Accelerated counted(hook, (out ? out.bytes() : 0) + (in ? in.bytes() : 0));
  if (out) {
    gather(*out.program, sendbuf, out_staging);
    sendbuf = out_staging.data();
    sendcount = static_cast<Count>(out.bytes());
    sendtype = MPI_PACKED;
  }
  if (!in)
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, users);
  StatusOr status(users);
  const int rc = next(sendbuf, sendcount, sendtype, dest, sendtag, in_staging.data(), static_cast<Count>(in.bytes()),
                      MPI_PACKED, source, recvtag, comm, status.get());
  if (rc == MPI_SUCCESS) deliver(*in.program, in_staging, recvbuf, *status);
  return rc;
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
  const auto staging = accepted ? stage(hook, accepted) : engine::Staging();
  if (!accepted) return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, users);
  const Accelerated counted(hook, accepted.bytes());
  StatusOr status(users);
  gather(*accepted.program, buf, staging);
  const int rc = next(staging.data(), static_cast<Count>(accepted.bytes()), MPI_PACKED, dest, sendtag, source, recvtag,
                      comm, status.get());
  if (rc == MPI_SUCCESS) deliver(*accepted.program, staging, buf, *status);
  return rc;
}

}  // namespace dunnage::calls
