// Preloaded into ranks that are more than the cores. A rank that waits keeps those from running
// that it waits for. So it gives up its core, for longer if it goes on to wait.
//
// MPICH 4.0 has no setting for that. With UCX it calls ucp_worker_progress in every turn of its
// waiting. Dunnage calls sched_yield where it waits itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

int sched_yield(void) {
  enum { same_wait = 20000, yields = 8, step = 10000, longest = 200000 };  // in ns, but for the number of yields
  static __thread int turns;
  static __thread long last;
  if (!last) prctl(PR_SET_TIMERSLACK, 1000UL);
  if (nanoseconds() - last > same_wait) turns = 0;
  if (++turns <= yields) {
    syscall(SYS_sched_yield);
  } else {
    const long pause = (long)step * (turns - yields);
    nanosleep(&(struct timespec){0, pause < longest ? pause : longest}, NULL);
  }
  last = nanoseconds();
  return 0;
}

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
