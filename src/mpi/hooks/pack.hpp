// MPI_Pack, MPI_Unpack, MPI_Pack_size and their large-count forms.
#pragma once

#include "mpi/hooks/gpu_pack.hpp"
#include "mpi/hooks/packing_turn.hpp"
#include "mpi/message/accept.hpp"

namespace dunnage::mpi {

template <class Fn, class Count>
[[gnu::noinline]] int packed(Hook hook, Fn next, const void* inbuf, Count incount, MPI_Datatype datatype, void* outbuf,
                             Count outsize, Count* position, MPI_Comm comm) {
  const auto decline = [&] { return next(inbuf, incount, datatype, outbuf, outsize, position, comm); };
  const auto accepted =
      accept(hook, plan::Operation::pack, inbuf, incount, datatype, std::numeric_limits<Count>::max());
  if (!accepted) return decline();
  // What does not fit is the MPI's to report; so are null pointers and a null communicator.
  if (!position || !outbuf || comm == MPI_COMM_NULL || *position < 0 || accepted.bytes() > outsize - *position) {
    process->count(hook, plan::Reason::bad_argument);
    return decline();
  }
  if (beyond_us(outbuf)) {
    process->count(hook, plan::Reason::no_kernels);
    return decline();
  }
  const PackingTurn turn(accepted);
  if (turn.is_librarys()) {
    process->count_declined(hook, plan::Reason::tried, accepted.bytes(), -1);
    return turn.measure(decline);
  }
  const Accelerated counted(hook, accepted.bytes());
  turn.measure([&] {
    accepted.buffer.program()->pack(inbuf, static_cast<char*>(outbuf) + *position, 0, accepted.bytes(), turn.stores());
    return MPI_SUCCESS;
  });
  *position += static_cast<Count>(accepted.bytes());
  return MPI_SUCCESS;
}

template <class Fn, class Count>
[[gnu::noinline]] int unpacked(Hook hook, Fn next, const void* inbuf, Count insize, Count* position, void* outbuf,
                               Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  const auto decline = [&] { return next(inbuf, insize, position, outbuf, outcount, datatype, comm); };
  const auto accepted =
      accept(hook, plan::Operation::unpack, outbuf, outcount, datatype, std::numeric_limits<Count>::max());
  if (!accepted) return decline();
  if (!position || !inbuf || comm == MPI_COMM_NULL || *position < 0 || accepted.bytes() > insize - *position) {
    process->count(hook, plan::Reason::bad_argument);
    return decline();
  }
  if (beyond_us(inbuf)) {
    process->count(hook, plan::Reason::no_kernels);
    return decline();
  }
  const PackingTurn turn(accepted);
  if (turn.is_librarys()) {
    process->count_declined(hook, plan::Reason::tried, accepted.bytes(), -1);
    return turn.measure(decline);
  }
  const Accelerated counted(hook, accepted.bytes());
  turn.measure([&] {
    accepted.buffer.program()->unpack(static_cast<const char*>(inbuf) + *position, outbuf, 0, accepted.bytes(),
                                      turn.stores());
    return MPI_SUCCESS;
  });
  *position += static_cast<Count>(accepted.bytes());
  return MPI_SUCCESS;
}

template <class Fn, class Count>
[[gnu::always_inline]] inline int pack(Hook hook, Fn next, const void* inbuf, Count incount, MPI_Datatype datatype,
                                       void* outbuf, Count outsize, Count* position, MPI_Comm comm) {
  const bool straight = goes_straight_through(hook, plan::Operation::pack, incount, datatype);
  if (straight && surely_host(inbuf) && surely_host(outbuf))
    return next(inbuf, incount, datatype, outbuf, outsize, position, comm);
  if (const auto done = gpu_packing(hook, true, inbuf, incount, datatype, outbuf, outsize, position, comm))
    return *done;
  if (straight) return next(inbuf, incount, datatype, outbuf, outsize, position, comm);
  return packed(hook, next, inbuf, incount, datatype, outbuf, outsize, position, comm);
}

template <class Fn, class Count>
[[gnu::always_inline]] inline int unpack(Hook hook, Fn next, const void* inbuf, Count insize, Count* position,
                                         void* outbuf, Count outcount, MPI_Datatype datatype, MPI_Comm comm) {
  const bool straight = goes_straight_through(hook, plan::Operation::unpack, outcount, datatype);
  if (straight && surely_host(inbuf) && surely_host(outbuf))
    return next(inbuf, insize, position, outbuf, outcount, datatype, comm);
  if (const auto done = gpu_packing(hook, false, outbuf, outcount, datatype, inbuf, insize, position, comm))
    return *done;
  if (straight) return next(inbuf, insize, position, outbuf, outcount, datatype, comm);
  return unpacked(hook, next, inbuf, insize, position, outbuf, outcount, datatype, comm);
}

/// The size is exact and so is the MPI's own: both use the native representation without a header.
template <class Fn, class Count>
int pack_size(Hook hook, Fn next, Count incount, MPI_Datatype datatype, MPI_Comm comm, Count* size) {
  const auto* known = known_type(datatype);
  const auto reason = !known ? plan::Reason::not_committed : known->reason();
  if (reason != plan::Reason::accelerated || incount < 0 || !size || comm == MPI_COMM_NULL ||
      (incount > 0 && known->layout().size > std::numeric_limits<Count>::max() / incount)) {
    process->count(hook, reason != plan::Reason::accelerated ? reason : plan::Reason::bad_argument);
    return next(incount, datatype, comm, size);
  }
  const Accelerated counted(hook, 0);
  *size = static_cast<Count>(incount * known->layout().size);
  return MPI_SUCCESS;
}

}  // namespace dunnage::mpi
