// MPI-ACX's calls (include/compat/mpi-acx.h). compat_acx_repeat.cpp compiles this file a second
// time, with DUNNAGE_MESSAGES_REPEAT.
#include "compat/mpi-acx.h"

#include "compat.hpp"

namespace {

struct Acx {
  CUstream stream;
  void exchange(void* out, MPI_Datatype out_type, int to, void* in, MPI_Datatype in_type, int from) {
    MPIX_Request requests[3];
    check_ok(MPIX_Isend_enqueue(out, 1, out_type, to, 4, MPI_COMM_WORLD, &requests[0], MPIX_QUEUE_CUDA_STREAM, &stream),
             "MPIX_Isend_enqueue");
    check_ok(MPIX_Irecv_enqueue(in, 1, in_type, from, 4, MPI_COMM_WORLD, &requests[1], MPIX_QUEUE_CUDA_STREAM, &stream),
             "MPIX_Irecv_enqueue");
    check_ok(MPIX_Isend_enqueue(out, 1, out_type, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &requests[2],
                                MPIX_QUEUE_CUDA_STREAM, &stream),
             "to nobody");
    check_ok(MPIX_Wait_enqueue(&requests[2], MPI_STATUS_IGNORE, MPIX_QUEUE_CUDA_STREAM, &stream), "MPIX_Wait_enqueue");
    check_ok(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE, MPIX_QUEUE_CUDA_STREAM, &stream),
             "MPIX_Waitall_enqueue");
    for (const auto request : requests) check(request == MPIX_REQUEST_NULL, "the request is done");
  }
};

int program(int argc, char** argv) {
  Contract c("compat_acx", &argc, &argv);
  Acx acx{own_stream()};
  check_ok(MPIX_Init(), "MPIX_Init");
  {
    CompatRing ring;
    ring.run(acx, acx.stream);
#ifdef DUNNAGE_MESSAGES_REPEAT
    if (argc > 1 && std::string(argv[1]) == "direct") ring.run_graph(acx, acx.stream);
#endif
    MPIX_Request request = MPIX_REQUEST_NULL;
    int word = 0;
    check(MPIX_Isend_enqueue(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request, MPIX_QUEUE_CUDA_GRAPH, &acx.stream) ==
              MPI_ERR_UNSUPPORTED_OPERATION,
          "graphs are refused");
    check_ok(MPIX_Finalize(), "MPIX_Finalize");
  }
  return c.finish();
}

}  // namespace

#ifdef DUNNAGE_MESSAGES_REPEAT
CONTRACT_PROGRAM(compat_acx_repeat) { return program(argc, argv); }
#else
CONTRACT_PROGRAM(compat_acx) { return program(argc, argv); }
#endif
