// MPICH's calls that enqueue messages (include/compat/mpix-stream.h). compat_stream_repeat.cpp
// compiles this file a second time, with DUNNAGE_MESSAGES_REPEAT.
#include <mpi.h>

#include "compat/mpix-stream.h"

#include "compat.hpp"

#ifdef DUNNAGE_MESSAGES_REPEAT
constexpr bool repeats = true;
#else
constexpr bool repeats = false;
#endif

namespace {

struct Enqueued {
  MPI_Comm comm;
  void exchange(void* out, MPI_Datatype out_type, int to, void* in, MPI_Datatype in_type, int from) {
    MPI_Request requests[2];
    check_ok(MPIX_Irecv_enqueue(in, 1, in_type, from, 5, comm, &requests[0]), "MPIX_Irecv_enqueue");
    check_ok(MPIX_Isend_enqueue(out, 1, out_type, to, 5, comm, &requests[1]), "MPIX_Isend_enqueue");
    check_ok(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE), "MPIX_Waitall_enqueue");
    check(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "the requests are done");
  }
};
/// Calls that send or receive at once: a rank after the other.
struct OneByOne {
  MPI_Comm comm;
  void exchange(void* out, MPI_Datatype out_type, int to, void* in, MPI_Datatype in_type, int from) {
    MPI_Request request;
    if (CompatRing::rank() == 0) {
      check_ok(MPIX_Irecv_enqueue(in, 1, in_type, from, 6, comm, &request), "MPIX_Irecv_enqueue");
      check_ok(MPIX_Send_enqueue(out, 1, out_type, to, 6, comm), "MPIX_Send_enqueue");
      check_ok(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE), "MPIX_Wait_enqueue");
    } else {
      check_ok(MPIX_Recv_enqueue(in, 1, in_type, from, 6, comm, MPI_STATUS_IGNORE), "MPIX_Recv_enqueue");
      check_ok(MPIX_Send_enqueue(out, 1, out_type, to, 6, comm), "MPIX_Send_enqueue");
    }
  }
};

/// Messages whose sender and tag the receiver does not know.
void wildcards(MPI_Comm comm) {
  const int me = CompatRing::rank();
  CudaMemory word(Kind::device, sizeof(int)), next(Kind::device, sizeof(int));
  word.write(&me);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPIX_Irecv_enqueue(next.data(), 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
  if (repeats) return check(code != MPI_SUCCESS, "wildcards are refused");
  MPI_Status status;
  check_ok(code, "MPIX_Irecv_enqueue");
  check_ok(MPIX_Send_enqueue(word.data(), 1, MPI_INT, CompatRing::right(), 7 + me, comm), "MPIX_Send_enqueue");
  check_ok(MPIX_Wait_enqueue(&request, &status), "MPIX_Wait_enqueue");
  check_equal(status.MPI_SOURCE, CompatRing::left(), "the source");
  check_equal(status.MPI_TAG, 7 + CompatRing::left(), "the tag");
  const int left = CompatRing::left();
  check(std::memcmp(next.read().data(), &left, sizeof left) == 0, "the word");
}

int program(int argc, char** argv) {
  Contract c("compat_stream", &argc, &argv);
  const auto stream = own_stream();
  MPI_Info info;
  MPIX_Stream gpu = MPIX_STREAM_NULL, none = MPIX_STREAM_NULL, found = MPIX_STREAM_NULL;
  MPI_Comm comm, plain;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  check_ok(MPIX_Info_set_hex(info, "value", &stream, sizeof stream), "MPIX_Info_set_hex");
  check_ok(MPIX_Stream_create(info, &gpu), "MPIX_Stream_create");
  MPI_Info_set(info, "type", "hipStream_t");
  check(MPIX_Stream_create(info, &none) != MPI_SUCCESS, "streams of HIP are refused");
  MPI_Info_free(&info);
  check_ok(MPIX_Stream_create(MPI_INFO_NULL, &none), "without a GPU");
  check_ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, gpu, &comm), "MPIX_Stream_comm_create");
  check_ok(MPIX_Stream_comm_create(MPI_COMM_WORLD, none, &plain), "without a GPU");
  check_ok(MPIX_Comm_get_stream(comm, 0, &found), "MPIX_Comm_get_stream");
  check(found == gpu, "the stream of the communicator");
  int word = 0;
  check(MPIX_Send_enqueue(&word, 1, MPI_INT, MPI_PROC_NULL, 0, plain) != MPI_SUCCESS, "nothing to enqueue into");
  check(MPIX_Send_enqueue(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "nor here");
  {
    CompatRing ring, other;
    Enqueued enqueued{comm};
    ring.run(enqueued, stream);
    const auto before = waits_of_host();
    ring.run(enqueued, stream);
    const bool direct = argc > 1 && std::string(argv[1]) == "direct";
    if (repeats && direct && waits_of_host() > 0) check_equal(waits_of_host(), before + 1, "streams alone wait");
    OneByOne one_by_one{comm};
    if (c.ranks > 1) other.run(one_by_one, stream);
    wildcards(comm);
    check_ok(MPI_Comm_free(&comm), "MPI_Comm_free");
    check_ok(MPI_Comm_free(&plain), "MPI_Comm_free");
    check_ok(MPIX_Stream_free(&gpu), "MPIX_Stream_free");
    check_ok(MPIX_Stream_free(&none), "MPIX_Stream_free");
    check(gpu == MPIX_STREAM_NULL, "the handle is cleared");
  }
  return c.finish();
}

}  // namespace

#ifdef DUNNAGE_MESSAGES_REPEAT
CONTRACT_PROGRAM(compat_stream_repeat) { return program(argc, argv); }
#else
CONTRACT_PROGRAM(compat_stream) { return program(argc, argv); }
#endif
