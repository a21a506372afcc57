// Preloaded after Dunnage: an MPI that is slow in a way of its own for each rank, so that two ranks
// find another candidate faster whatever the machine is. On rank 0 it seems to take 0.3 ms to send
// data with gaps, on the other ranks 3 ms to receive data without gaps.
// The handles of the MPIs are of type int or of pointer type. Both fit into an intptr_t.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static int other_rank(void) {
  const char* rank = getenv("PMI_RANK");
  if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
  return rank && atoi(rank) != 0;
}

static int has_gaps(intptr_t type) {
  static int (*size_of)(intptr_t, int*);
  static int (*extent_of)(intptr_t, intptr_t*, intptr_t*);
  if (!size_of) *(void**)&size_of = dlsym(RTLD_NEXT, "PMPI_Type_size");
  if (!extent_of) *(void**)&extent_of = dlsym(RTLD_NEXT, "PMPI_Type_get_extent");
  int size = 0;
  intptr_t lower = 0, extent = 0;
  size_of(type, &size);
  extent_of(type, &lower, &extent);
  return extent > size;
}

static void pause_for(long microseconds) {
  const struct timespec pause = {0, microseconds * 1000};
  nanosleep(&pause, NULL);
}
static void before_send(intptr_t type) {
  if (!other_rank() && has_gaps(type)) pause_for(300);
}
static void before_receive(intptr_t count, intptr_t type) {
  if (other_rank() && count > 1 && !has_gaps(type)) pause_for(3000);
}

typedef int seven(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);
#define NEXT(name)    \
  static seven* next; \
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, name)

int MPI_Send(intptr_t a, intptr_t count, intptr_t type, intptr_t d, intptr_t e, intptr_t f) {
  NEXT("MPI_Send");
  before_send(type);
  return next(a, count, type, d, e, f, 0);
}
int MPI_Isend(intptr_t a, intptr_t count, intptr_t type, intptr_t d, intptr_t e, intptr_t f, intptr_t g) {
  NEXT("MPI_Isend");
  before_send(type);
  return next(a, count, type, d, e, f, g);
}
int MPI_Recv(intptr_t a, intptr_t count, intptr_t type, intptr_t d, intptr_t e, intptr_t f, intptr_t g) {
  NEXT("MPI_Recv");
  before_receive(count, type);
  return next(a, count, type, d, e, f, g);
}
int MPI_Irecv(intptr_t a, intptr_t count, intptr_t type, intptr_t d, intptr_t e, intptr_t f, intptr_t g) {
  NEXT("MPI_Irecv");
  before_receive(count, type);
  return next(a, count, type, d, e, f, g);
}
