/* The interface between the preloaded library and a backend. It is C because front.c is. */
#ifndef DUNNAGE_SHIM_BACKEND_H
#define DUNNAGE_SHIM_BACKEND_H

struct dunnage_front {
  /* Returns the next function of that name after Dunnage's, a profiling tool's or the MPI's; null
     if there is none. */
  void* (*next)(const char* name);
  /* Whether this process prints the complaints of its job. */
  int speaks;
};

/* Exported by every backend. Returns the hooks in the order of hook_list.inc. A hook is null if the
   MPI lacks the function. The result is null if all calls are to be passed through. */
typedef void* const* (*dunnage_backend_fn)(const struct dunnage_front* front);

#endif
