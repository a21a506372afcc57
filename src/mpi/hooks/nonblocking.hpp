// Nonblocking and persistent point-to-point calls. mpi/ways/send.hpp and receive.hpp do what does
// not go straight through.
#pragma once

#include "mpi/copies/staged_call.hpp"
#include "mpi/hooks/blocking.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/ways/watched_receive.hpp"

namespace dunnage::mpi {

/// Nothing of ours in this call, and nobody measures it.
[[gnu::always_inline]] inline bool begins_straight_through(Hook hook, plan::Operation operation, const void* buffer,
                                                           std::int64_t count, MPI_Datatype type) {
  return goes_straight_through(hook, operation, buffer, count, type) && !process->exchanges.open();
}
/// After the MPI has begun it. The MPI may have given a handle that was once a request of ours.
inline int begun_straight_through(int rc, const MPI_Request* request) {
  if (!process->requests.empty()) forget_request(rc, request);
  return rc;
}

template <class Fn, class Count>
[[gnu::noinline]] int isend_by_way(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest,
                                   int tag, MPI_Comm comm, MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  return begin_send({hook, buf, count, datatype, dest, tag, comm, most_of<Count>}, request,
                    [&](const void* b, std::int64_t n, MPI_Datatype t) {
                      return next(b, static_cast<Count>(n), t, dest, tag, comm, request);
                    });
}
template <class Fn, class Count>
[[gnu::always_inline]] inline int isend(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype,
                                        int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  if (begins_straight_through(hook, plan::Operation::send, buf, count, datatype) &&
      !channel_counts_send(comm, dest, tag))
    return begun_straight_through(next(buf, count, datatype, dest, tag, comm, request), request);
  return isend_by_way(hook, next, buf, count, datatype, dest, tag, comm, request);
}

template <class Fn, class Count>
[[gnu::noinline]] int ireceive_by_way(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source,
                                      int tag, MPI_Comm comm, MPI_Request* request, bool persistent) {
  const UnwrittenRequest unwritten(request);
  return begin_receive({hook, buf, count, datatype, source, tag, comm, most_of<Count>}, persistent, request,
                       [&](void* b, std::int64_t n, MPI_Datatype t) {
                         return next(b, static_cast<Count>(n), t, source, tag, comm, request);
                       });
}
template <class Fn, class Count>
[[gnu::always_inline]] inline int ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype,
                                           int source, int tag, MPI_Comm comm, MPI_Request* request) {
  if (begins_straight_through(hook, plan::Operation::receive, buf, count, datatype) &&
      !channel_counts_receive(comm, source, tag))
    return begun_straight_through(next(buf, count, datatype, source, tag, comm, request), request);
  return ireceive_by_way(hook, next, buf, count, datatype, source, tag, comm, request, false);
}

template <class Fn, class Count>
int matched_ireceive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                     MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  return begin_receive(
      {hook, buf, count, datatype, source_of(message), MPI_ANY_TAG, comm_of_matched(message), most_of<Count>, true},
      false, request,
      [&](void* b, std::int64_t n, MPI_Datatype t) { return next(b, static_cast<Count>(n), t, message, request); });
}

template <class Fn, class Count>
int send_init(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  const int rc = init_send({hook, buf, count, datatype, dest, tag, comm, most_of<Count>}, request,
                           [&](const void* b, std::int64_t n, MPI_Datatype t) {
                             return next(b, static_cast<Count>(n), t, dest, tag, comm, request);
                           });
  return note_persistent(rc, hook, buf, count, datatype, dest, tag, comm, request);
}

template <class Fn, class Count>
int receive_init(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  const int rc = ireceive_by_way(hook, next, buf, count, datatype, source, tag, comm, request, true);
  return note_persistent(rc, hook, buf, count, datatype, source, tag, comm, request);
}

/// MPICH 4.0 does not fill the status of MPI_Isendrecv.
inline std::unique_ptr<Posting> posting_without_status(int source, int tag, MPI_Comm comm) {
  auto posting = posting_of(source, tag, comm);
  if (posting) posting->expect_no_status();
  return posting;
}

/// Left to the MPI, but what it receives may be an announcement.
template <class Fn, class Count>
int isendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
              MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  progress_orphans();
  answer_letters();
  StagedCall call(hook, errors_of_comm(comm), comm, true, {});
  sendbuf = call.send(sendbuf, blocks(beyond_null(dest), sendcount, sendtype));
  recvbuf = call.update(recvbuf, blocks(beyond_null(source), recvcount, recvtype));
  if (!call.ready()) return call.error();
  int error = MPI_SUCCESS;
  dest = dest_by_mpi({hook, sendbuf, sendcount, sendtype, dest, sendtag, comm, most_of<Count>}, error);
  if (error != MPI_SUCCESS) return error;
  avoid_length(sendcount, sendtype, dest, comm);
  auto watched = watch_receive({hook, recvbuf, recvcount, recvtype, source, recvtag, comm, most_of<Count>},
                               posting_without_status(source, recvtag, comm));
  const int rc =
      next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request);
  return call.staged() ? call.begun(rc, request, false, std::move(watched)) : watch(rc, request, std::move(watched));
}
template <class Fn, class Count>
int isendrecv_replace(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  const UnwrittenRequest unwritten(request);
  progress_orphans();
  answer_letters();
  StagedCall call(hook, errors_of_comm(comm), comm, true, {});
  buf = call.update(buf, one(count, datatype));
  if (!call.ready()) return call.error();
  int error = MPI_SUCCESS;
  dest = dest_by_mpi({hook, buf, count, datatype, dest, sendtag, comm, most_of<Count>}, error);
  if (error != MPI_SUCCESS) return error;
  avoid_length(count, datatype, dest, comm);
  auto watched = watch_receive({hook, buf, count, datatype, source, recvtag, comm, most_of<Count>},
                               posting_without_status(source, recvtag, comm));
  const int rc = next(buf, count, datatype, dest, sendtag, source, recvtag, comm, request);
  return call.staged() ? call.begun(rc, request, false, std::move(watched)) : watch(rc, request, std::move(watched));
}

int start(Hook, decltype(NextTable::MPI_Start) next, MPI_Request* request);
int startall(Hook, decltype(NextTable::MPI_Startall) next, int count, MPI_Request* requests);

}  // namespace dunnage::mpi
