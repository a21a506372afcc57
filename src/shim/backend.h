/* What the preloaded library and a backend say to each other. C, because the front is. */
#ifndef DUNNAGE_SHIM_BACKEND_H
#define DUNNAGE_SHIM_BACKEND_H

struct dunnage_front {
  /* The function of that name that comes after Dunnage's: a profiling tool's or the MPI's; null where there is none. */
  void* (*next)(const char* name);
  /* Whether this process is the one of its job that tells of what is wrong. */
  int speaks;
};

/* Exported by every backend. Returns the hooks in the order of hook_list.inc, null where the MPI lacks the function;
   null as a whole where everything is to be passed through. */
typedef void* const* (*dunnage_backend_fn)(const struct dunnage_front* front);

#endif
