/* The interface between the preloaded library and a backend. It is C because front.c is. */
#ifndef DUNNAGE_SHIM_BACKEND_H
#define DUNNAGE_SHIM_BACKEND_H

#include "shim/hook_list_id.h"

struct dunnage_front {
  /* Returns the next function of that name after Dunnage's, a profiling tool's or the MPI's; null
     if there is none. */
  void* (*next)(const char* name);
  /* What next() says of each name of hook_list.inc, in its order. */
  void* const* found;
  /* The path of the backend. */
  const char* path;
  /* Whether this process prints the complaints of its job. */
  int speaks;
};

/* Exported by every backend. Returns the hooks in the order of hook_list.inc. A hook is null if the
   MPI lacks the function. The result is null if all calls are to be passed through. */
typedef void* const* (*dunnage_backend_fn)(const struct dunnage_front* front);

/* Exported by every backend as dunnage_hook_list_id: the DUNNAGE_HOOK_LIST_ID that it was compiled
   with. Front and backend find a hook by its place in the list, so both must have one list. */

#endif
