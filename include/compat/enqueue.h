/* What mpi-acx.h and mpix-stream.h have in common: messages of other interfaces that a stream sends
   and receives. Programs do not include this file.

   A program may define DUNNAGE_MESSAGES_REPEAT before it includes one of the headers. The macro
   chooses between two ways:

   Without it, a call waits for the stream on the host, and then calls MPI_Isend or MPI_Irecv.
   Waiting for a message is MPI_Wait. All messages are right, wildcards and statuses too, but the
   host waits.

   With it, streams start the messages and wait for them, by DNG_Match, DNG_Start_enqueue and
   DNG_Wait_enqueue. dunnage.h knows persistent messages only. So a message is matched at its first
   use, and is found again by its arguments: buffer, count, datatype, peer, tag, communicator and
   stream. The program must keep these rules:
   - Sender and receiver repeat in step: when one uses new arguments for a message, the other one
     does too. Otherwise one of them waits for ever in a match.
   - Two ranks use new messages between them in step with their waits: what one rank uses for the
     first time between two waits, the other one does too. Otherwise their matches cross.
   - A message is under way once at a time. Otherwise the call returns MPI_ERR_REQUEST.
   - Waiting for a send makes the stream wait for the receives that are under way in it, too. The
     peer's stream may be waiting for those.
   - A message that is used for the first time is matched, and starts, at the next call that waits
     for any message. Until then the host must not wait for something that the peer does later.
   - Buffers, datatypes and communicators live until the messages are forgotten: at
     MPIX_Stream_free or MPIX_Finalize.
   - MPI_ANY_SOURCE, MPI_ANY_TAG and MPI_STATUS contents are not available: the first two are errors,
     and statuses are left as they are.

   One thread at a time makes the calls. Link with -ldunnage-api. */
#ifndef DUNNAGE_COMPAT_ENQUEUE_H
#define DUNNAGE_COMPAT_ENQUEUE_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "dunnage.h"

/* One message of the program. */
struct dunnage_message {
  struct dunnage_message *next, *next_noted;
  const void* buffer;
  int count, peer, tag, sends;
  MPI_Datatype type;
  MPI_Comm comm;
  void* stream;
  MPI_Request request;   /* until it is matched */
  DNG_Exchange exchange; /* since then */
  DNG_Queue queue;
  int from, to;              /* ranks in MPI_COMM_WORLD */
  int under_way, waited_for; /* the stream waits for it already */
};
/* All sources of a program have it in common. */
struct dunnage_messages {
  struct dunnage_message *all, *noted;
};
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak, visibility("hidden"))) struct dunnage_messages dunnage_messages = {0, 0};
#ifdef __cplusplus
}
#endif

/* Waits until the stream is idle. */
static inline int dunnage_wait_for_stream(void* stream) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  int (*synchronize)(void*) = 0;
  if (!library) return MPI_SUCCESS; /* then there is no stream */
  *(void**)&synchronize = dlsym(library, "cuStreamSynchronize");
  const int failed = synchronize ? synchronize(stream) : 0;
  dlclose(library);
  return failed ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static inline int dunnage_world_rank(MPI_Comm comm, int rank) {
  MPI_Group group, world;
  int inter = 0, found = MPI_PROC_NULL;
  if (rank == MPI_PROC_NULL) return rank;
  MPI_Comm_test_inter(comm, &inter);
  if (inter)
    MPI_Comm_remote_group(comm, &group);
  else
    MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, 1, &rank, world, &found);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return found;
}

static inline struct dunnage_message* dunnage_find_message(const struct dunnage_message* like) {
  struct dunnage_message* m = dunnage_messages.all;
  while (m && !(m->buffer == like->buffer && m->count == like->count && m->peer == like->peer && m->tag == like->tag &&
                m->sends == like->sends && m->type == like->type && m->comm == like->comm && m->stream == like->stream))
    m = m->next;
  return m;
}

/* The order is the same on all ranks, so no two of them match in opposite orders. */
static inline int dunnage_before(const struct dunnage_message* a, const struct dunnage_message* b) {
  if (a->from != b->from) return a->from < b->from;
  if (a->to != b->to) return a->to < b->to;
  return a->tag < b->tag;
}

static inline int dunnage_make_message(const struct dunnage_message* like, struct dunnage_message** made) {
  struct dunnage_message* m = (struct dunnage_message*)malloc(sizeof *m);
  int rank = 0, code;
  if (!m) return MPI_ERR_NO_MEM;
  *m = *like;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  m->from = m->sends ? rank : dunnage_world_rank(m->comm, m->peer);
  m->to = m->sends ? dunnage_world_rank(m->comm, m->peer) : rank;
  code = m->sends ? MPI_Send_init(m->buffer, m->count, m->type, m->peer, m->tag, m->comm, &m->request)
                  : MPI_Recv_init((void*)m->buffer, m->count, m->type, m->peer, m->tag, m->comm, &m->request);
  if (code == MPI_SUCCESS) code = DNG_Queue_create(m->stream, &m->queue);
  if (code != MPI_SUCCESS) {
    free(m);
    return code;
  }
  m->next = dunnage_messages.all;
  dunnage_messages.all = m;
  *made = m;
  return MPI_SUCCESS;
}

/* Starts a message, or notes one that is new. */
static inline int dunnage_begin(const void* buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                                int sends, void* stream, struct dunnage_message** message) {
  struct dunnage_message like, *m, **place = &dunnage_messages.noted;
  int code = MPI_SUCCESS;
  memset(&like, 0, sizeof like);
  like.buffer = buffer;
  like.count = count;
  like.type = type;
  like.peer = peer;
  like.tag = tag;
  like.comm = comm;
  like.sends = sends;
  like.stream = stream;
  if (!sends && peer == MPI_ANY_SOURCE) return MPI_ERR_RANK;
  if (!sends && tag == MPI_ANY_TAG) return MPI_ERR_TAG;
  m = dunnage_find_message(&like);
  if (!m) code = dunnage_make_message(&like, &m);
  if (code != MPI_SUCCESS) return code;
  if (m->under_way) return MPI_ERR_REQUEST;
  m->waited_for = 0;
  if (m->exchange) {
    code = DNG_Start_enqueue(m->exchange, m->queue);
  } else {
    while (*place && !dunnage_before(m, *place)) place = &(*place)->next_noted;
    m->next_noted = *place;
    *place = m;
  }
  m->under_way = code == MPI_SUCCESS;
  *message = m;
  return code;
}

/* Matches and starts what was noted. */
static inline int dunnage_match_noted(void) {
  struct dunnage_message *m, *first = dunnage_messages.noted;
  int code = MPI_SUCCESS;
  dunnage_messages.noted = 0;
  for (m = first; m && code == MPI_SUCCESS; m = m->next_noted) code = DNG_Match(1, &m->request, &m->exchange);
  for (m = first; m && code == MPI_SUCCESS; m = m->next_noted) code = DNG_Start_enqueue(m->exchange, m->queue);
  return code;
}

static inline int dunnage_let_stream_wait(struct dunnage_message* m) {
  if (m->waited_for) return MPI_SUCCESS;
  m->waited_for = 1;
  return DNG_Wait_enqueue(m->exchange, m->queue);
}

/* Makes the stream wait for a message. */
static inline int dunnage_finish(struct dunnage_message* m) {
  struct dunnage_message* other;
  int code = dunnage_match_noted();
  for (other = dunnage_messages.all; m->sends && other && code == MPI_SUCCESS; other = other->next)
    if (other->under_way && !other->sends && other->stream == m->stream) code = dunnage_let_stream_wait(other);
  if (code == MPI_SUCCESS) code = dunnage_let_stream_wait(m);
  m->under_way = 0;
  return code;
}

/* Forgets the messages of a stream, or all messages if `all`. None may be under way. */
static inline int dunnage_forget(void* stream, int all) {
  struct dunnage_message** place = &dunnage_messages.all;
  int code = MPI_SUCCESS;
  while (*place) {
    struct dunnage_message* m = *place;
    int freed = MPI_SUCCESS;
    if (!all && m->stream != stream) {
      place = &m->next;
      continue;
    }
    if (m->under_way) return MPI_ERR_REQUEST;
    *place = m->next;
    if (m->exchange)
      freed = DNG_Exchange_free(&m->exchange);
    else
      freed = MPI_Request_free(&m->request);
    DNG_Queue_free(&m->queue);
    free(m);
    if (code == MPI_SUCCESS) code = freed;
  }
  return code;
}

#endif
