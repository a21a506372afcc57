/* Which ABI an MPI library has. */
#ifndef DUNNAGE_SHIM_FAMILY_H
#define DUNNAGE_SHIM_FAMILY_H

#include <dlfcn.h>
#include <string.h>

/* Returns the ABI family of an MPI, which is the name of its backend, or NULL if it is unknown.
   `function` is one of its functions, `version` what MPI_Get_library_version says. A library with
   the standard's ABI is recognised by its file name, whoever made it. The other libraries are
   recognised by their maker. */
static inline const char* dunnage_family_of(void* function, const char* version) {
  Dl_info owner;
  if (dladdr(function, &owner) && owner.dli_fname) {
    const char* slash = strrchr(owner.dli_fname, '/');
    if (strncmp(slash ? slash + 1 : owner.dli_fname, "libmpi_abi.", 11) == 0) return "abi";
  }
  if (strstr(version, "Open MPI")) return "openmpi";
  if (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") || strstr(version, "MVAPICH")) return "mpich";
  return NULL;
}

#endif
