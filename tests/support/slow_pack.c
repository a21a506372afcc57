// Preloaded after Dunnage: an MPI whose packing calls seem to take 20 ms. A trial
// between this MPI and Dunnage has one right result on any machine, however busy the machine is.
// The handles of the MPIs are of type int or of pointer type. Both fit into an intptr_t.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

typedef int packing_call(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t);

static int slowly(const char* name, intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f,
                  intptr_t g) {
  const struct timespec pause = {0, 20 * 1000 * 1000};
  nanosleep(&pause, NULL);
  packing_call* next;
  *(void**)&next = dlsym(RTLD_NEXT, name);
  return next(a, b, c, d, e, f, g);
}

int MPI_Pack(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, intptr_t g) {
  return slowly("MPI_Pack", a, b, c, d, e, f, g);
}
int MPI_Unpack(intptr_t a, intptr_t b, intptr_t c, intptr_t d, intptr_t e, intptr_t f, intptr_t g) {
  return slowly("MPI_Unpack", a, b, c, d, e, f, g);
}
