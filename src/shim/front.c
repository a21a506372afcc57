/* The preloaded library: finds out which MPI the program uses and hands its calls to the backend for that ABI.

   Nothing happens at load time: no constructor, no thread, no file. Everything here runs at the first MPI call.
   Whatever goes wrong, the program's calls go to its MPI as if we were not there, and one line says why. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/backend.h"

__attribute__((visibility("default"))) const char dunnage_version[] = DUNNAGE_VERSION;

extern void* dunnage_slots[];  /* entries.S */

static const char* const names[] = {
#define DUNNAGE_HOOK(name) #name,
#include "shim/hook_list.inc"
};
enum { count = sizeof names / sizeof names[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void* mpi;  /* handle of the MPI library where it is not in the global scope */

/* The MPI may have been loaded where RTLD_NEXT does not look: inside an extension module of Python, say. */
static int look_into(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* file = strrchr(info->dlpi_name, '/');
  if (!file || strncmp(file, "/libmpi", 7) != 0) return 0;
  void* handle = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return 0;
  if (dlsym(handle, "PMPI_Send")) {
    mpi = handle;
    return 1;
  }
  dlclose(handle);
  return 0;
}

static void* next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (!found && mpi) found = dlsym(mpi, name);
  return found;
}

/* A function that this MPI does not have was called through its name in our library. */
static int missing(void) { return 16; /* MPI_ERR_OTHER or its neighbour in every ABI: an error, never success */ }

static const char* flavour_of(const char* version) {
  if (strstr(version, "Open MPI")) return "openmpi";
  if (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") || strstr(version, "MVAPICH")) return "mpich";
  return NULL;
}

static void* const* load_backend(void) {
  int (*library_version)(char*, int*);
  *(void**)&library_version = next("PMPI_Get_library_version");
  if (!library_version) {
    dl_iterate_phdr(look_into, NULL);
    *(void**)&library_version = next("PMPI_Get_library_version");
  }
  if (!library_version) {
    fprintf(stderr, "dunnage: no MPI library with PMPI_Get_library_version found; calls are passed through\n");
    return NULL;
  }
  char version[8192 + 1] = "";
  int length = 0;
  library_version(version, &length);
  const char* flavour = flavour_of(version);
  if (!flavour) {
    version[strcspn(version, "\n")] = '\0';
    fprintf(stderr, "dunnage: unknown MPI '%.80s'; calls are passed through\n", version);
    return NULL;
  }
  Dl_info self;
  char path[4096];
  if (!dladdr(dunnage_version, &self)) return NULL;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? (int)(slash - self.dli_fname + 1) : 0;
  const int written = snprintf(path, sizeof path, "%.*sdunnage/libdunnage-%s.so", folder, self.dli_fname, flavour);
  if (written < 0 || written >= (int)sizeof path) return NULL;
  void* backend = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  dunnage_backend_fn start = NULL;
  if (backend) *(void**)&start = dlsym(backend, "dunnage_backend");
  if (!start) {
    fprintf(stderr, "dunnage: cannot load the backend for this MPI, calls are passed through: %s\n", dlerror());
    return NULL;
  }
  static const struct dunnage_front front = {next};
  return start(&front);
}

static void bind_all(void) {
  void* const* hooks = load_backend();
  for (int i = 0; i < count; ++i) {
    void* target = hooks ? hooks[i] : NULL;
    if (!target) target = next(names[i]);
    if (!target) *(int (**)(void)) & target = missing;
    __atomic_store_n(&dunnage_slots[i], target, __ATOMIC_RELEASE);
  }
}

/* Called by entries.S with the index of the entry that was called first. */
__attribute__((visibility("hidden"))) void* dunnage_bind(long index) {
  pthread_once(&once, bind_all);
  return __atomic_load_n(&dunnage_slots[index], __ATOMIC_ACQUIRE);
}
