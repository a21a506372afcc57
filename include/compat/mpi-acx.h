/* NVIDIA's MPI-ACX, by dunnage.h: for programs that are compiled again, with any MPI. Include this
   file in place of mpi-acx.h, and link with -ldunnage-api. enqueue.h says what
   DUNNAGE_MESSAGES_REPEAT changes, and which rules hold then.

   What MPI-ACX has and this header has not:
   - MPIX_QUEUE_CUDA_GRAPH. The calls return MPI_ERR_UNSUPPORTED_OPERATION. Capture a stream instead:
     a message that repeats, and has been used once, can be captured.
   - Partitioned messages (MPIX_Psend_init, MPIX_Prequest_create, MPIX_Pready in kernels). MPI-ACX
     makes each request ready for kernels by itself. DNG_Match needs those of all peers together. Use
     MPI_Psend_init, DNG_Match and DNG_Exchange_device: the guide has the lines.
   - MPIX_Wait_enqueue without a status, as the first version of MPI-ACX had it. */
#ifndef DUNNAGE_COMPAT_MPI_ACX_H
#define DUNNAGE_COMPAT_MPI_ACX_H
#ifdef DUNNAGE_COMPAT_MPIX_STREAM_H
#error "mpi-acx.h and mpix-stream.h have calls of the same names"
#endif
#define MPI_ACX_H

#include "enqueue.h"

struct dunnage_acx_request {
  struct dunnage_message* message; /* null if the MPI does it */
  MPI_Request request;
};
#define MPIX_Request dunnage_acx_Request
typedef struct dunnage_acx_request* MPIX_Request;
#undef MPIX_REQUEST_NULL
#define MPIX_REQUEST_NULL ((MPIX_Request)0)

enum { dunnage_acx_stream, dunnage_acx_graph };
#define MPIX_QUEUE_CUDA_STREAM dunnage_acx_stream
#define MPIX_QUEUE_CUDA_GRAPH dunnage_acx_graph

static inline int dunnage_acx_init(void) { return MPI_SUCCESS; }
/* No message may be under way. */
static inline int dunnage_acx_finalize(void) { return dunnage_forget(0, 1); }

/* `queue` points to a stream. */
static inline int dunnage_acx_begin(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                    int sends, MPIX_Request* request, int queue_type, void* queue) {
  void* stream;
  int code;
  MPIX_Request made;
  if (queue_type != dunnage_acx_stream) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (!queue || !request) return MPI_ERR_ARG;
  memcpy(&stream, queue, sizeof stream);
  made = (MPIX_Request)malloc(sizeof *made);
  if (!made) return MPI_ERR_NO_MEM;
  made->message = 0;
  made->request = MPI_REQUEST_NULL;
#ifdef DUNNAGE_MESSAGES_REPEAT
  code = dunnage_begin(buffer, count, type, peer, tag, comm, sends, stream, &made->message);
#else
  code = dunnage_wait_for_stream(stream);
  if (code == MPI_SUCCESS)
    code = sends ? MPI_Isend(buffer, count, type, peer, tag, comm, &made->request)
                 : MPI_Irecv(buffer, count, type, peer, tag, comm, &made->request);
#endif
  if (code != MPI_SUCCESS) {
    free(made);
    made = 0;
  }
  *request = made;
  return code;
}

static inline int dunnage_acx_isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                    MPIX_Request* request, int queue_type, void* queue) {
  return dunnage_acx_begin((void*)buffer, count, type, peer, tag, comm, 1, request, queue_type, queue);
}
static inline int dunnage_acx_irecv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                    MPIX_Request* request, int queue_type, void* queue) {
  return dunnage_acx_begin(buffer, count, type, peer, tag, comm, 0, request, queue_type, queue);
}

/* The queue is that of the message. */
static inline int dunnage_acx_wait(MPIX_Request* request, MPI_Status* status, int queue_type, void* queue) {
  int code;
  (void)queue;
  if (queue_type != dunnage_acx_stream) return MPI_ERR_UNSUPPORTED_OPERATION;
  if (!request) return MPI_ERR_ARG;
  if (!*request) return MPI_SUCCESS;
  code = (*request)->message ? dunnage_finish((*request)->message) : MPI_Wait(&(*request)->request, status);
  free(*request);
  *request = MPIX_REQUEST_NULL;
  return code;
}
static inline int dunnage_acx_waitall(int count, MPIX_Request* requests, MPI_Status* statuses, int queue_type,
                                      void* queue) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    const int waited = dunnage_acx_wait(&requests[i], status, queue_type, queue);
    if (code == MPI_SUCCESS) code = waited;
  }
  return code;
}

#define MPIX_Init dunnage_acx_init
#define MPIX_Finalize dunnage_acx_finalize
#define MPIX_Init_stream dunnage_acx_init
#define MPIX_Finalize_stream dunnage_acx_finalize
#define MPIX_Isend_enqueue dunnage_acx_isend
#define MPIX_Irecv_enqueue dunnage_acx_irecv
#define MPIX_Wait_enqueue dunnage_acx_wait
#define MPIX_Waitall_enqueue dunnage_acx_waitall

#endif
