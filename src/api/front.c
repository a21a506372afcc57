/* libdunnage-api: what programs link that use include/dunnage.h. If Dunnage is preloaded, its
   functions of these names come first, and none of these is called. Otherwise they hand the calls to
   dunnage/libdunnage-api-<family>.so, which does the same with the MPI alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shim/family.h"

#define EXPORTED __attribute__((visibility("default")))

enum { api_version = 1 };
enum function {
  match,
  match_f,
  exchange_free,
  queue_create,
  queue_free,
  start,
  wait,
  pready,
  device_handle,
  query,
  error,
  functions
};
static const char* const names[functions] = {
    "dunnage_api_match",      "dunnage_api_match_f", "dunnage_api_exchange_free", "dunnage_api_queue_create",
    "dunnage_api_queue_free", "dunnage_api_start",   "dunnage_api_wait",          "dunnage_api_pready",
    "dunnage_api_device",     "dunnage_api_query",   "dunnage_api_error",
};
static void* found[functions];
static pthread_once_t once = PTHREAD_ONCE_INIT;

EXPORTED int DNG_api_version(void) { return api_version; }

/* The MPI may be in the scope of another library, as in Python. */
static void* library_version(void) { return dlsym(RTLD_DEFAULT, "MPI_Get_library_version"); }

static void load(void) {
  int (*version_of)(char*, int*);
  *(void**)&version_of = library_version();
  if (!version_of) return;
  char version[8192 + 1] = "";
  int length = 0;
  version_of(version, &length);
  const char* family = dunnage_family_of(dlsym(RTLD_DEFAULT, "PMPI_Get_library_version"), version);
  Dl_info self;
  if (!family || !dladdr((void*)&names, &self)) return;
  const char* slash = strrchr(self.dli_fname, '/');
  const int folder = slash ? (int)(slash - self.dli_fname + 1) : 0;
  char path[4096];
  const int written = snprintf(path, sizeof path, "%.*sdunnage/libdunnage-api-%s.so", folder, self.dli_fname, family);
  if (written < 0 || written >= (int)sizeof path) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; library && i < functions; ++i) found[i] = dlsym(library, names[i]);
}

/* No MPI has this error code. front.c of the preloaded library returns it for missing functions. */
static const int missing = (int)0xAAAAAAAAu;

#define CALL(which, type, arguments) \
  int(*call) type;                   \
  pthread_once(&once, load);         \
  *(void**)&call = found[which];     \
  return call ? call arguments : missing

EXPORTED int DNG_Match(int count, void* requests, void** exchange) {
  CALL(match, (int, void*, void**), (count, requests, exchange));
}
/* A preloaded library of an earlier version has DNG_Match only. */
EXPORTED int DNG_Match_stamped(int count, void* requests, void** exchange) {
  return DNG_Match(count, requests, exchange);
}
/* For Fortran. The handles are converted here, and DNG_Match may be the preloaded library's. */
EXPORTED int DNG_Match_f(int count, int* requests, void** exchange) {
  CALL(match_f, (int, int*, void**, int (*)(int, void*, void**)), (count, requests, exchange, DNG_Match));
}
EXPORTED int DNG_Match_stamped_f(int count, int* requests, void** exchange) {
  CALL(match_f, (int, int*, void**, int (*)(int, void*, void**)), (count, requests, exchange, DNG_Match_stamped));
}
EXPORTED int DNG_Exchange_free(void** exchange) { CALL(exchange_free, (void**), (exchange)); }
EXPORTED int DNG_Queue_create(void* stream, void** queue) { CALL(queue_create, (void*, void**), (stream, queue)); }
EXPORTED int DNG_Queue_free(void** queue) { CALL(queue_free, (void**), (queue)); }
EXPORTED int DNG_Start_enqueue(void* exchange, void* queue) { CALL(start, (void*, void*), (exchange, queue)); }
EXPORTED int DNG_Wait_enqueue(void* exchange, void* queue) { CALL(wait, (void*, void*), (exchange, queue)); }
EXPORTED int DNG_Pready_enqueue(int partition, int request, void* exchange, void* queue) {
  CALL(pready, (int, int, void*, void*), (partition, request, exchange, queue));
}
EXPORTED int DNG_Exchange_device(void* exchange, const void** device) {
  CALL(device_handle, (void*, const void**), (exchange, device));
}
EXPORTED int DNG_Exchange_query(void* exchange, int* way, const char** why) {
  CALL(query, (void*, int*, const char**), (exchange, way, why));
}
EXPORTED int DNG_Exchange_error(void* exchange, int* code) { CALL(error, (void*, int*), (exchange, code)); }
