// The MPI's own calls, past the preloaded library. The broadcasts of this program and its
// synchronisation use them.
#pragma once

#include "common/past.hpp"

namespace bench {

struct Functions {
  decltype(&MPI_Isend) Isend = BENCH_PAST(MPI_Isend);
  decltype(&MPI_Issend) Issend = BENCH_PAST(MPI_Issend);
  decltype(&MPI_Irecv) Irecv = BENCH_PAST(MPI_Irecv);
  decltype(&MPI_Testall) Testall = BENCH_PAST(MPI_Testall);
  decltype(&MPI_Waitall) Waitall = BENCH_PAST(MPI_Waitall);
  decltype(&MPI_Bcast) Bcast = BENCH_PAST(MPI_Bcast);
  decltype(&MPI_Ibcast) Ibcast = BENCH_PAST(MPI_Ibcast);
  decltype(&MPI_Wait) Wait = BENCH_PAST(MPI_Wait);
  decltype(&MPI_Barrier) Barrier = BENCH_PAST(MPI_Barrier);
  decltype(&MPI_Reduce) Reduce = BENCH_PAST(MPI_Reduce);
  decltype(&MPI_Allreduce) Allreduce = BENCH_PAST(MPI_Allreduce);
};

inline const Functions& past() {
  static const Functions functions;
  return functions;
}

}  // namespace bench
