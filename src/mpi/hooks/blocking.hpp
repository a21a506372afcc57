// Blocking point-to-point calls. mpi/ways/send.hpp and receive.hpp do what does not go straight
// through.
#pragma once

#include <limits>

#include "mpi/message/matched.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/announcement.hpp"
#include "mpi/ways/by_channel.hpp"
#include "mpi/ways/from_channel.hpp"
#include "mpi/ways/outbound.hpp"
#include "mpi/ways/receive.hpp"
#include "mpi/ways/send.hpp"

namespace dunnage::mpi {

template <class Count>
inline constexpr auto most_of = static_cast<std::int64_t>(std::numeric_limits<Count>::max());

template <class Fn, class Count>
[[gnu::noinline]] int send_by_way(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype, int dest,
                                  int tag, MPI_Comm comm) {
  return mpi::send({hook, buf, count, datatype, dest, tag, comm, most_of<Count>},
                   [&](const void* b, std::int64_t n, MPI_Datatype t) {
                     return next(b, static_cast<Count>(n), t, dest, tag, comm);
                   });
}

template <class Fn, class Count>
[[gnu::always_inline]] inline int send(Hook hook, Fn next, const void* buf, Count count, MPI_Datatype datatype,
                                       int dest, int tag, MPI_Comm comm) {
  if (goes_straight_through(hook, operation_of(hook), buf, count, datatype) && !channel_counts_send(comm, dest, tag))
    return next(buf, count, datatype, dest, tag, comm);
  return send_by_way(hook, next, buf, count, datatype, dest, tag, comm);
}

template <class Fn, class Count>
[[gnu::noinline]] int receive_by_way(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source,
                                     int tag, MPI_Comm comm, MPI_Status* status) {
  return mpi::receive({hook, buf, count, datatype, source, tag, comm, most_of<Count>}, status,
                      [&](void* b, std::int64_t n, MPI_Datatype t, MPI_Status* s) {
                        return next(b, static_cast<Count>(n), t, source, tag, comm, s);
                      });
}

template <class Fn, class Count>
[[gnu::always_inline]] inline int receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int source,
                                          int tag, MPI_Comm comm, MPI_Status* status) {
  if (goes_straight_through(hook, plan::Operation::receive, buf, count, datatype) &&
      !channel_counts_receive(comm, source, tag))
    return looked_at(next(buf, count, datatype, source, tag, comm, status));
  return receive_by_way(hook, next, buf, count, datatype, source, tag, comm, status);
}

/// What a matched receive knows of its source.
inline int source_of(const MPI_Message* message) {
  return message && *message == MPI_MESSAGE_NO_PROC ? MPI_PROC_NULL : MPI_ANY_SOURCE;
}

template <class Fn, class Count>
int matched_receive(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, MPI_Message* message,
                    MPI_Status* status) {
  const auto errors = errors_of_completion(errors_of_comm(comm_of_matched(message)), process->behaviour.mrecv);
  return mpi::receive({hook, buf, count, datatype, source_of(message), MPI_ANY_TAG, handle_of<MPI_Comm>(errors.key),
                       most_of<Count>, true},
                      status, [&](void* b, std::int64_t n, MPI_Datatype t, MPI_Status* s) {
                        return next(b, static_cast<Count>(n), t, message, s);
                      });
}

/// Either side may be ours, both, or neither.
template <class Fn, class Count>
[[gnu::noinline]] int sendrecv_by_way(Hook hook, Fn next, const void* sendbuf, Count sendcount, MPI_Datatype sendtype,
                                      int dest, int sendtag, void* recvbuf, Count recvcount, MPI_Datatype recvtype,
                                      int source, int recvtag, MPI_Comm comm, MPI_Status* users) {
  const InExchange in_exchange;
  progress_orphans();
  answer_letters();
  SendInside out({hook, sendbuf, sendcount, sendtype, dest, sendtag, comm, most_of<Count>});
  if (out.refused() != MPI_SUCCESS) return out.refused();
  const ReceiveInside in({hook, recvbuf, recvcount, recvtype, source, recvtag, comm, most_of<Count>});
  if (const int error = out.error() != MPI_SUCCESS ? out.error() : in.error(); error != MPI_SUCCESS)
    return raise(comm, error);
  if (!out && !in && !announcements_possible())  // and no channel
    return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                users);
  std::optional<Accelerated> counted;
  if (out.counts() || in)
    counted.emplace(hook, out.bytes() + in.bytes(), out.announced(), out.counts() ? counted_peer(comm, dest) : -1,
                    out.bytes());
  if (const int code = out.pack(); code != MPI_SUCCESS) return raise(comm, code);
  const auto sent = out ? std::optional<Shown>(out.parcel()) : std::nullopt;
  const auto received = in ? std::optional<Shown>(in.parcel()) : std::nullopt;
  StatusOr status(users);
  int result = next(sent ? sent->data() : sendbuf, sent ? static_cast<Count>(sent->count()) : sendcount,
                    sent ? sent->type() : sendtype, out.dest(), sendtag, received ? received->data() : recvbuf,
                    received ? static_cast<Count>(received->count()) : recvcount,
                    received ? received->type() : recvtype, source, recvtag, comm, status.get());
  result = in.settle(result, *status.get());
  const int finished = out.finish();
  if (result != MPI_SUCCESS || finished == MPI_SUCCESS) return result;
  return raise(comm, finished);
}

template <class Fn, class Count>
[[gnu::always_inline]] inline int sendrecv(Hook hook, Fn next, const void* sendbuf, Count sendcount,
                                           MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf, Count recvcount,
                                           MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                                           MPI_Status* status) {
  if (goes_straight_through(hook, plan::Operation::send, sendbuf, sendcount, sendtype) &&
      !channel_counts_send(comm, dest, sendtag)) {
    if (goes_straight_through(hook, plan::Operation::receive, recvbuf, recvcount, recvtype) &&
        !channel_counts_receive(comm, source, recvtag))
      return next(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                  status);
    const auto take = [&](void* b, std::int64_t n, MPI_Datatype t, MPI_Status* s) {
      return next(sendbuf, sendcount, sendtype, dest, sendtag, b, static_cast<Count>(n), t, source, recvtag, comm, s);
    };
    if (const auto code =
            receive_by_mpi({hook, recvbuf, recvcount, recvtype, source, recvtag, comm, most_of<Count>}, status, take))
      return *code;
  }
  return sendrecv_by_way(hook, next, sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,
                         recvtag, comm, status);
}

template <class Fn, class Count>
int sendrecv_replace(Hook hook, Fn next, void* buf, Count count, MPI_Datatype datatype, int dest, int sendtag,
                     int source, int recvtag, MPI_Comm comm, MPI_Status* users) {
  progress_orphans();
  answer_letters();
  // With a null process on one side there is one message, and the MPI knows what that means. With
  // two messages both directions must be trusted with packed bytes.
  const bool receives = source != MPI_PROC_NULL;
  int error = MPI_SUCCESS;
  dest = dest_by_mpi({hook, buf, count, datatype, dest, sendtag, comm, most_of<Count>}, error);
  if (error != MPI_SUCCESS) return error;
  avoid_length(count, datatype, dest, comm);
  const auto posting = posting_of(source, recvtag, comm);
  const auto accept_as = [&](plan::Operation operation, int peer) {
    return accept_message(hook, operation, turn_of(hook, operation, buf, count, datatype, peer, comm), buf, count,
                          datatype, most_of<Count>, peer, comm);
  };
  auto accepted = receives ? accept_as(plan::Operation::receive, source) : accept_as(plan::Operation::send, dest);
  if (accepted && receives && dest != MPI_PROC_NULL) accepted = accept_as(plan::Operation::send, dest);
  const auto parcel =
      accepted ? parcel_for(accepted.buffer, plan::Operation::send, accepted.bytes(), true) : memory::Parcel();
  if (accepted && !parcel) {
    process->count(hook, plan::Reason::no_memory);
    if (accepted.buffer.device()) accepted.error = MPI_ERR_NO_MEM;
    accepted.buffer = {};
  }
  if (accepted.error != MPI_SUCCESS) return raise(comm, accepted.error);
  if (accepted && accepted.buffer.packer()) process->count(hook, plan::GpuWay::staged_mode);
  StatusOr status(users);
  if (!accepted) {
    if (!announcements_possible()) return next(buf, count, datatype, dest, sendtag, source, recvtag, comm, users);
    const int rc = next(buf, count, datatype, dest, sendtag, source, recvtag, comm, status.get());
    if (rc != MPI_SUCCESS || !receives) return rc;
    const int code = settle_in_place(buf, count, datatype, *status.get(), comm, posting.get());
    if (posting) posting->ended(status.get());
    return code;
  }
  const Accelerated counted(hook, accepted.bytes(), false, counted_peer(comm, dest));
  if (const int code = gather(parcel, accepted.buffer); code != MPI_SUCCESS) return raise(comm, code);
  const Shown shown(parcel);
  const int rc = next(shown.data(), static_cast<Count>(shown.count()), shown.type(), dest, sendtag, source, recvtag,
                      comm, status.get());
  if (rc != MPI_SUCCESS || !receives) return rc;
  const int code = settle_staged(parcel, accepted.buffer, *status.get(), comm, posting.get());
  if (posting) posting->ended(status.get());
  return code;
}

}  // namespace dunnage::mpi
