// On which cores a process may run.
#pragma once

#include <sched.h>

namespace dunnage::base {

/// Returns the number of cores on which a thread may run. 0: the calling thread. A process' number
/// stands for its first thread.
inline int cores_of(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  // It fails if the kernel knows more cores than a set has, and so there are enough of them.
  return sched_getaffinity(thread, sizeof set, &set) == 0 ? CPU_COUNT(&set) : CPU_SETSIZE;
}

}  // namespace dunnage::base
