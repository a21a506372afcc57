/* MPICH's calls that enqueue messages into streams, by dunnage.h: for programs that are compiled
   again, with any MPI. Include this file after mpi.h, and link with -ldunnage-api. The calls of an
   MPICH that has them are hidden by macros. enqueue.h says what DUNNAGE_MESSAGES_REPEAT changes, and
   which rules hold then.

   Here are MPIX_Info_set_hex, MPIX_Stream_create, MPIX_Stream_free, MPIX_Stream_comm_create,
   MPIX_Comm_get_stream, and MPIX_Send_, Recv_, Isend_, Irecv_, Wait_ and Waitall_enqueue. What MPICH
   has and this header has not: MPIX_Stream_comm_create_multiplex, MPIX_Stream_send and its kin,
   MPIX_Stream_progress, collectives that are enqueued, and streams of HIP. A request of an enqueued
   call goes to MPIX_Wait_enqueue or MPIX_Waitall_enqueue only. */
#ifndef DUNNAGE_COMPAT_MPIX_STREAM_H
#define DUNNAGE_COMPAT_MPIX_STREAM_H
#ifdef DUNNAGE_COMPAT_MPI_ACX_H
#error "mpi-acx.h and mpix-stream.h have calls of the same names"
#endif

#include <stdint.h>
#include <stdio.h>

#include "enqueue.h"

/* A request that stands for a message. */
struct dunnage_stream_request {
  struct dunnage_stream_request* next;
  MPI_Request request;
  struct dunnage_message* message;
};
struct dunnage_stream {
  void* stream;
  int on_gpu;
};
struct dunnage_stream_state {
  int keyval, has_keyval;
  struct dunnage_stream_request* requests;
};
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak, visibility("hidden"))) struct dunnage_stream_state dunnage_stream_state = {0, 0, 0};
#ifdef __cplusplus
}
#endif

typedef struct dunnage_stream* dunnage_Stream;
#define MPIX_Stream dunnage_Stream
#undef MPIX_STREAM_NULL
#define MPIX_STREAM_NULL ((MPIX_Stream)0)

static inline int dunnage_stream_set_hex(MPI_Info info, const char* key, const void* value, int size) {
  char text[2 * 64 + 1] = "";
  if (size < 0 || size > 64) return MPI_ERR_ARG;
  for (int i = 0; i < size; ++i) snprintf(text + 2 * i, 3, "%02x", ((const unsigned char*)value)[i]);
  return MPI_Info_set(info, key, text);
}

/* Without a `type`, the stream has no GPU, and nothing can be enqueued. */
static inline int dunnage_stream_create(MPI_Info info, MPIX_Stream* stream) {
  char type[MPI_MAX_INFO_VAL + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
  int has_type = 0, has_value = 0;
  MPIX_Stream made;
  if (!stream) return MPI_ERR_ARG;
  if (info != MPI_INFO_NULL) {
    MPI_Info_get(info, "type", MPI_MAX_INFO_VAL, type, &has_type);
    MPI_Info_get(info, "value", MPI_MAX_INFO_VAL, value, &has_value);
  }
  if (has_type && strcmp(type, "cudaStream_t") != 0 && strncmp(type, "637564615374726561", 18) != 0)
    return MPI_ERR_UNSUPPORTED_OPERATION; /* the number is the beginning of that name in hexadecimal */
  if (has_type && (!has_value || strlen(value) != 2 * sizeof(void*))) return MPI_ERR_INFO_VALUE;
  made = (MPIX_Stream)calloc(1, sizeof *made);
  if (!made) return MPI_ERR_NO_MEM;
  made->on_gpu = has_type;
  for (size_t i = 0; has_type && i < sizeof made->stream; ++i) {
    unsigned byte = 0;
    sscanf(value + 2 * i, "%2x", &byte);
    ((unsigned char*)&made->stream)[i] = (unsigned char)byte;
  }
  *stream = made;
  return MPI_SUCCESS;
}
/* No message may be under way in it. Free its communicators before. */
static inline int dunnage_stream_free(MPIX_Stream* stream) {
  if (!stream || !*stream) return MPI_ERR_ARG;
  const int code = (*stream)->on_gpu ? dunnage_forget((*stream)->stream, 0) : MPI_SUCCESS;
  if (code == MPI_ERR_REQUEST) return code;
  free(*stream);
  *stream = MPIX_STREAM_NULL;
  return code;
}

static inline int dunnage_stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* made) {
  struct dunnage_stream_state* s = &dunnage_stream_state;
  int code = MPI_SUCCESS;
  if (!s->has_keyval) code = MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &s->keyval, 0);
  s->has_keyval = code == MPI_SUCCESS;
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(comm, made);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_attr(*made, s->keyval, stream);
  return code;
}
static inline int dunnage_stream_of(MPI_Comm comm, int index, MPIX_Stream* stream) {
  void* value = 0;
  int found = 0;
  if (index != 0) return MPI_ERR_ARG;
  if (dunnage_stream_state.has_keyval) MPI_Comm_get_attr(comm, dunnage_stream_state.keyval, &value, &found);
  *stream = found ? (MPIX_Stream)value : MPIX_STREAM_NULL;
  return MPI_SUCCESS;
}

#ifdef DUNNAGE_MESSAGES_REPEAT
static inline int dunnage_stream_query(void* extra, MPI_Status* status) {
  (void)extra;
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}
static inline int dunnage_stream_no_free(void* extra) {
  (void)extra;
  return MPI_SUCCESS;
}
static inline int dunnage_stream_no_cancel(void* extra, int complete) {
  (void)extra;
  (void)complete;
  return MPI_SUCCESS;
}
/* A genuine request, which stands for the message. */
static inline int dunnage_stream_note(struct dunnage_message* message, MPI_Request* request) {
  struct dunnage_stream_request* made = (struct dunnage_stream_request*)malloc(sizeof *made);
  if (!made) return MPI_ERR_NO_MEM;
  const int code =
      MPI_Grequest_start(dunnage_stream_query, dunnage_stream_no_free, dunnage_stream_no_cancel, 0, &made->request);
  if (code != MPI_SUCCESS) {
    free(made);
    return code;
  }
  made->message = message;
  made->next = dunnage_stream_state.requests;
  dunnage_stream_state.requests = made;
  *request = made->request;
  return MPI_SUCCESS;
}
#endif

static inline int dunnage_stream_begin(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                       int sends, MPI_Request* request) {
  MPIX_Stream stream = MPIX_STREAM_NULL;
  dunnage_stream_of(comm, 0, &stream);
  if (!stream || !stream->on_gpu) return MPI_ERR_COMM;
#ifdef DUNNAGE_MESSAGES_REPEAT
  struct dunnage_message* message = 0;
  const int code = dunnage_begin(buffer, count, type, peer, tag, comm, sends, stream->stream, &message);
  return code == MPI_SUCCESS ? dunnage_stream_note(message, request) : code;
#else
  const int code = dunnage_wait_for_stream(stream->stream);
  if (code != MPI_SUCCESS) return code;
  return sends ? MPI_Isend(buffer, count, type, peer, tag, comm, request)
               : MPI_Irecv(buffer, count, type, peer, tag, comm, request);
#endif
}

static inline int dunnage_stream_wait(MPI_Request* request, MPI_Status* status) {
  struct dunnage_stream_request** place = &dunnage_stream_state.requests;
  if (!request) return MPI_ERR_REQUEST;
  while (*place && (*place)->request != *request) place = &(*place)->next;
  if (!*place || *request == MPI_REQUEST_NULL) return MPI_Wait(request, status);
  struct dunnage_stream_request* found = *place;
  *place = found->next;
  const int code = dunnage_finish(found->message);
  MPI_Grequest_complete(*request);
  MPI_Wait(request, MPI_STATUS_IGNORE);
  free(found);
  return code;
}
static inline int dunnage_stream_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  int code = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
    const int waited = dunnage_stream_wait(&requests[i], status);
    if (code == MPI_SUCCESS) code = waited;
  }
  return code;
}

static inline int dunnage_stream_isend(const void* buffer, int count, MPI_Datatype type, int peer, int tag,
                                       MPI_Comm comm, MPI_Request* request) {
  return dunnage_stream_begin((void*)buffer, count, type, peer, tag, comm, 1, request);
}
static inline int dunnage_stream_irecv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                       MPI_Request* request) {
  return dunnage_stream_begin(buffer, count, type, peer, tag, comm, 0, request);
}
static inline int dunnage_stream_send(const void* buffer, int count, MPI_Datatype type, int peer, int tag,
                                      MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = dunnage_stream_isend(buffer, count, type, peer, tag, comm, &request);
  return code == MPI_SUCCESS ? dunnage_stream_wait(&request, MPI_STATUS_IGNORE) : code;
}
static inline int dunnage_stream_recv(void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                      MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = dunnage_stream_irecv(buffer, count, type, peer, tag, comm, &request);
  return code == MPI_SUCCESS ? dunnage_stream_wait(&request, status) : code;
}

#define MPIX_Info_set_hex dunnage_stream_set_hex
#define MPIX_Stream_create dunnage_stream_create
#define MPIX_Stream_free dunnage_stream_free
#define MPIX_Stream_comm_create dunnage_stream_comm_create
#define MPIX_Comm_get_stream dunnage_stream_of
#define MPIX_Send_enqueue dunnage_stream_send
#define MPIX_Recv_enqueue dunnage_stream_recv
#define MPIX_Isend_enqueue dunnage_stream_isend
#define MPIX_Irecv_enqueue dunnage_stream_irecv
#define MPIX_Wait_enqueue dunnage_stream_wait
#define MPIX_Waitall_enqueue dunnage_stream_waitall

#endif
