// Preloaded into the ranks of an MPICH that waits without giving up its core: MPICH 4.0 has no
// setting for that. Where ranks are more than cores, a rank that waits keeps those from running
// that it waits for, until its time slice ends. MPICH 4.0 with UCX calls ucp_worker_progress in
// every turn of its waiting.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  enum { turns_before_yield = 200 };
  static unsigned (*next)(void*);
  static __thread int idle;
  if (!next) next = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned events = next(worker);
  if (events > 0)
    idle = 0;
  else if (++idle > turns_before_yield)
    sched_yield();
  return events;
}
