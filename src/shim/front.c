/* The preloaded library. It finds out which MPI the program uses and hands the program's calls to
   the backend for that MPI's ABI.

   Nothing happens at load time: there is no constructor, no thread and no file. Everything here
   runs at the first MPI call. If anything goes wrong, the program's calls go to its MPI as if
   Dunnage were not there, and one line says why. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/backend.h"
#include "shim/family.h"

__attribute__((visibility("default"))) const char dunnage_version[] = DUNNAGE_VERSION;

extern void* dunnage_slots[]; /* entries.S */

static const char* const names[] = {
#define DUNNAGE_HOOK(name) #name,
#include "shim/hook_list.inc"
};
enum { count = sizeof names / sizeof names[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void* mpi;          /* handle of the MPI library if it is not in the global scope */
static void* found[count]; /* what next() says of each name; each search takes a part of a microsecond */

/* RTLD_NEXT does not find every MPI. For example, an extension module of Python may have loaded the
   MPI. */
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

/* Called if the program calls a function through its name in our library that its MPI does not
   have. */
static int missing(void) {
  /* No MPI has this error code. mpi4py looks for functions before it calls them, and it finds ours.
     It uses this code itself for a missing function. */
  return (int)0xAAAAAAAAu;
}

/* Called in place of missing() for the functions that ask for support of GPUs. Any other answer
   than 0 would be taken for yes. */
static int no_support(void) { return 0; }
static int no_support_of(int type, int* flag) {
  (void)type;
  if (flag) *flag = 0;
  return 0;
}

static void* absent(const char* name) {
  void* answer;
  const char* own_name = name[0] == 'P' ? name + 1 : name;
  if (strcmp(own_name, "MPIX_Query_cuda_support") == 0)
    *(int (**)(void)) & answer = no_support;
  else if (strcmp(own_name, "MPIX_GPU_query_support") == 0)
    *(int (**)(int, int*)) & answer = no_support_of;
  else
    *(int (**)(void)) & answer = missing;
  return answer;
}

/* A complaint is printed once for a job and not once for a rank. Before MPI_Init only the launcher
   knows the rank. */
static int speaks_for_the_job(void) {
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    const char* rank = getenv(ranks[i]);
    if (rank) return strcmp(rank, "0") == 0;
  }
  return 1;
}

__attribute__((format(printf, 1, 2))) static void complain(const char* format, ...) {
  if (!speaks_for_the_job()) return;
  char line[4096 + 256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(stderr, "dunnage: %s; calls are passed through\n", line);
}

/* Finds the MPI and its functions. Returns its MPI_Get_library_version. */
static void* find_mpi(void) {
  void* library_version = next("PMPI_Get_library_version");
  if (!library_version) {
    dl_iterate_phdr(look_into, NULL);
    library_version = next("PMPI_Get_library_version");
  }
  for (int i = 0; i < count; ++i) found[i] = next(names[i]);
  return library_version;
}

static void* const* load_backend(void) {
  int (*library_version)(char*, int*);
  *(void**)&library_version = find_mpi();
  if (!library_version) {
    complain("no MPI library with PMPI_Get_library_version found");
    return NULL;
  }
  char version[8192 + 1] = "";
  int length = 0;
  library_version(version, &length);
  const char* family = dunnage_family_of(*(void**)&library_version, version);
  if (!family) {
    version[strcspn(version, "\n")] = '\0';
    complain("unknown MPI '%.80s', of neither the Open MPI, the MPICH nor the standard ABI", version);
    return NULL;
  }
  static char path[4096];
  const char* self = dunnage_file_of(dunnage_version);
  if (!self) return NULL;
  const char* slash = strrchr(self, '/');
  const int folder = slash ? (int)(slash - self + 1) : 0;
  const int written = snprintf(path, sizeof path, "%.*sdunnage/libdunnage-%s.so", folder, self, family);
  if (written < 0 || written >= (int)sizeof path) return NULL;
  /* Most programs call few of the functions that the backend needs of the C library. Their versions
     are looked at now all the same. */
  void* backend = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  dunnage_backend_fn start = NULL;
  if (backend) *(void**)&start = dlsym(backend, "dunnage_backend");
  if (!start) {
    const char* why = dlerror();
    complain("cannot load the backend for this MPI: %s", why ? why : "it has no dunnage_backend");
    return NULL;
  }
  const char* const list = dlsym(backend, "dunnage_hook_list_id");
  if (!list || strcmp(list, DUNNAGE_HOOK_LIST_ID) != 0) {
    complain("%s is of another version than libdunnage.so: install both together", path);
    return NULL;
  }
  const struct dunnage_front front = {next, found, path, speaks_for_the_job()};
  return start(&front);
}

static void bind_all(void) {
  void* const* hooks = load_backend();
  for (int i = 0; i < count; ++i) {
    void* target = hooks ? hooks[i] : NULL;
    if (!target) target = found[i];
    if (!target) target = absent(names[i]);
    __atomic_store_n(&dunnage_slots[i], target, __ATOMIC_RELEASE);
  }
}

/* Called by entries.S with the index of the entry that was called first. */
__attribute__((visibility("hidden"))) void* dunnage_bind(long index) {
  pthread_once(&once, bind_all);
  return __atomic_load_n(&dunnage_slots[index], __ATOMIC_ACQUIRE);
}
