/* The calls of include/dunnage.h with the MPI alone, compiled once for each ABI: the host waits for
   the stream, and the MPI does the messages. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

struct exchange {
  int count;
  int active;
  MPI_Request* requests;
  MPI_Status* statuses;
};
struct queue {
  void* stream;
  void* context;
};

/* The CUDA driver, if the program has loaded it. */
struct driver {
  int (*current)(void**);
  int (*push)(void*);
  int (*pop)(void**);
  int (*synchronize)(void*);
  int (*capturing)(void*, int*);
};
static int look_up(struct driver* driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return 0;
  *(void**)&driver->current = dlsym(library, "cuCtxGetCurrent");
  *(void**)&driver->push = dlsym(library, "cuCtxPushCurrent_v2");
  *(void**)&driver->pop = dlsym(library, "cuCtxPopCurrent_v2");
  *(void**)&driver->synchronize = dlsym(library, "cuStreamSynchronize");
  *(void**)&driver->capturing = dlsym(library, "cuStreamIsCapturing");
  return driver->current && driver->push && driver->pop && driver->synchronize && driver->capturing;
}
/* Null if it is not loaded. A program may load it at any time, so only a success is kept, and then
   the library stays. */
static const struct driver* find_driver(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct driver found;
  static atomic_int there;
  if (atomic_load_explicit(&there, memory_order_acquire)) return &found;
  pthread_mutex_lock(&lock);
  const int now = atomic_load(&there) || look_up(&found);
  if (now) atomic_store_explicit(&there, 1, memory_order_release);
  pthread_mutex_unlock(&lock);
  return now ? &found : NULL;
}

static int captured(const struct queue* queue) {
  const struct driver* driver = find_driver();
  int status = 0;
  return driver && driver->capturing(queue->stream, &status) == 0 && status != 0;
}

static int wait_for_stream(const struct queue* queue) {
  const struct driver* driver = find_driver();
  void* popped = NULL;
  if (!driver) return MPI_SUCCESS;
  if (queue->context && driver->push(queue->context) != 0) return MPI_ERR_OTHER;
  const int failed = driver->synchronize(queue->stream);
  if (queue->context) driver->pop(&popped);
  return failed ? MPI_ERR_OTHER : MPI_SUCCESS;
}

EXPORTED int dunnage_api_match(int count, MPI_Request* requests, struct exchange** exchange) {
  if (count < 0) return MPI_ERR_COUNT;
  if (!exchange || (count > 0 && !requests)) return MPI_ERR_ARG;
  for (int i = 0; i < count; ++i)
    if (requests[i] == MPI_REQUEST_NULL) return MPI_ERR_REQUEST;
  struct exchange* made = malloc(sizeof *made);
  const size_t n = count > 0 ? (size_t)count : 1;
  MPI_Request* kept = malloc(n * sizeof *kept);
  MPI_Status* statuses = malloc(n * sizeof *statuses);
  if (!made || !kept || !statuses) {
    free(made);
    free(kept);
    free(statuses);
    return MPI_ERR_NO_MEM;
  }
  *made = (struct exchange){count, 0, kept, statuses};
  for (int i = 0; i < count; ++i) {
    made->requests[i] = requests[i];
    requests[i] = MPI_REQUEST_NULL;
  }
  *exchange = made;
  return MPI_SUCCESS;
}

/* Handles of Fortran. The standard ABI knows no Fortran, and has its own functions for integers. */
#ifdef MPI_ABI
static MPI_Request of_integer(int request) { return MPI_Request_fromint(request); }
static int to_integer(MPI_Request request) { return MPI_Request_toint(request); }
#else
static MPI_Request of_integer(int request) { return MPI_Request_f2c(request); }
static int to_integer(MPI_Request request) { return MPI_Request_c2f(request); }
#endif

EXPORTED int dunnage_api_match_f(int count, int* requests, void** exchange, int (*match)(int, void*, void**)) {
  if (count < 0) return MPI_ERR_COUNT;
  if (count > 0 && !requests) return MPI_ERR_ARG;
  MPI_Request* handles = malloc((size_t)count * sizeof *handles + 1);
  if (!handles) return MPI_ERR_NO_MEM;
  for (int i = 0; i < count; ++i) handles[i] = of_integer(requests[i]);
  const int code = match(count, handles, exchange);
  for (int i = 0; i < count; ++i) requests[i] = to_integer(handles[i]);
  free(handles);
  return code;
}

EXPORTED int dunnage_api_exchange_free(struct exchange** exchange) {
  if (!exchange || !*exchange) return MPI_ERR_ARG;
  struct exchange* one = *exchange;
  if (one->active) return MPI_ERR_REQUEST;
  int code = MPI_SUCCESS;
  for (int i = 0; i < one->count; ++i) {
    const int freed = MPI_Request_free(&one->requests[i]);
    if (code == MPI_SUCCESS) code = freed;
  }
  free(one->requests);
  free(one->statuses);
  free(one);
  *exchange = NULL;
  return code;
}

EXPORTED int dunnage_api_queue_create(void* stream, struct queue** queue) {
  if (!queue) return MPI_ERR_ARG;
  struct queue* made = calloc(1, sizeof *made);
  if (!made) return MPI_ERR_NO_MEM;
  made->stream = stream;
  const struct driver* driver = find_driver();
  if (driver) driver->current(&made->context);
  *queue = made;
  return MPI_SUCCESS;
}

EXPORTED int dunnage_api_queue_free(struct queue** queue) {
  if (!queue || !*queue) return MPI_ERR_ARG;
  free(*queue);
  *queue = NULL;
  return MPI_SUCCESS;
}

EXPORTED int dunnage_api_start(struct exchange* exchange, struct queue* queue) {
  if (!exchange || !queue) return MPI_ERR_ARG;
  if (exchange->active || captured(queue)) return MPI_ERR_REQUEST;
  int code = wait_for_stream(queue);
  if (code == MPI_SUCCESS) code = MPI_Startall(exchange->count, exchange->requests);
  if (code == MPI_SUCCESS) exchange->active = 1;
  return code;
}

EXPORTED int dunnage_api_wait(struct exchange* exchange, struct queue* queue) {
  if (!exchange || !queue) return MPI_ERR_ARG;
  if (!exchange->active) return MPI_ERR_REQUEST;
  exchange->active = 0;
  return MPI_Waitall(exchange->count, exchange->requests, exchange->statuses);
}

/* An older MPI has no such function, and then no such requests either. */
EXPORTED int dunnage_api_pready(int partition, int request, struct exchange* exchange, struct queue* queue) {
  int (*ready)(int, MPI_Request);
  *(void**)&ready = dlsym(RTLD_DEFAULT, "MPI_Pready");
  if (!exchange || !queue) return MPI_ERR_ARG;
  if (!exchange->active || request < 0 || request >= exchange->count || captured(queue) || !ready)
    return MPI_ERR_REQUEST;
  const int code = wait_for_stream(queue);
  return code == MPI_SUCCESS ? ready(partition, exchange->requests[request]) : code;
}

/* Kernels cannot call the MPI. */
EXPORTED int dunnage_api_device(struct exchange* exchange, const void** device) {
  if (!exchange || !device) return MPI_ERR_ARG;
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

EXPORTED int dunnage_api_query(struct exchange* exchange, int* way, const char** why) {
  if (!exchange) return MPI_ERR_ARG;
  if (way) *way = 0;
  if (why) *why = "Dunnage is not preloaded";
  return MPI_SUCCESS;
}

EXPORTED int dunnage_api_error(struct exchange* exchange, int* code) {
  if (!exchange || !code) return MPI_ERR_ARG;
  *code = MPI_SUCCESS;
  return MPI_SUCCESS;
}
