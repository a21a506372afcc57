#include "noncontiguous_send/functions.hpp"

#include "common/past.hpp"

namespace bench {

const Functions& through() {
  static const Functions functions{MPI_Send,  MPI_Recv, MPI_Bsend,      MPI_Buffer_attach, MPI_Buffer_detach,
                                   MPI_Isend, MPI_Wait, MPI_Send_init,  MPI_Start,         MPI_Request_free,
                                   MPI_Pack,  MPI_Put,  MPI_Win_create, MPI_Win_fence,     MPI_Win_free};
  return functions;
}

const Functions& past() {
  static const Functions functions{
      BENCH_PAST(MPI_Send),          BENCH_PAST(MPI_Recv),          BENCH_PAST(MPI_Bsend),
      BENCH_PAST(MPI_Buffer_attach), BENCH_PAST(MPI_Buffer_detach), BENCH_PAST(MPI_Isend),
      BENCH_PAST(MPI_Wait),          BENCH_PAST(MPI_Send_init),     BENCH_PAST(MPI_Start),
      BENCH_PAST(MPI_Request_free),  BENCH_PAST(MPI_Pack),          BENCH_PAST(MPI_Put),
      BENCH_PAST(MPI_Win_create),    BENCH_PAST(MPI_Win_fence),     BENCH_PAST(MPI_Win_free)};
  return functions;
}

}  // namespace bench
