/* Asks in all the ways in which programs ask whether they may give device memory to the MPI, and
   prints the answers of rank 0. With the argument "cuda" it first loads CUDA's driver and calls cuInit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY "mpi_memory_alloc_kinds"

static void answer(const char* what, int yes) { printf("%s: %d\n", what, yes); }

/* As the example "jacobi" of NVIDIA, and PETSc, have it on Open MPI. */
static void open_mpi(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  answer("compiled in", MPIX_CUDA_AWARE_SUPPORT);
  answer("MPIX_Query_cuda_support", MPIX_Query_cuda_support());
#endif
}

/* As AMReX has it on MPICH. */
static void mpich(void) {
#if defined(MPICH) && defined(MPIX_GPU_SUPPORT_CUDA)
  const int types[] = {MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_ZE, MPIX_GPU_SUPPORT_HIP};
  const char* const names[] = {"MPIX_GPU_SUPPORT_CUDA", "MPIX_GPU_SUPPORT_ZE", "MPIX_GPU_SUPPORT_HIP"};
  for (int i = 0; i < 3; ++i) {
    int supported = -1;
    if (MPIX_GPU_query_support(types[i], &supported) == MPI_SUCCESS) answer(names[i], supported);
  }
#endif
}

/* As programs have it that were built for no MPI in particular. */
static void by_name(void) {
  int (*query)(void);
  int (*query_type)(int, int*);
  *(void**)&query = dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support");
  *(void**)&query_type = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
  if (query) answer("MPIX_Query_cuda_support by name", query());
  int supported = -1;
  if (query_type && query_type(0, &supported) == MPI_SUCCESS) answer("MPIX_GPU_query_support by name", supported);
  if (query_type) answer("a type that there is not", query_type(99, &supported) == MPI_SUCCESS);
}

/* Whether the two ways to read a value agree; prints it. */
static void kinds(const char* what, MPI_Info info) {
  char value[MPI_MAX_INFO_VAL + 1] = "", key[MPI_MAX_INFO_KEY + 1], few[5] = "????";
  int there = 0, length = -1, keys = 0, seen = 0;
  MPI_Info_get(info, KEY, MPI_MAX_INFO_VAL, value, &there);
  printf("%s: %s\n", what, there ? value : "-");
  MPI_Info_get_valuelen(info, KEY, &length, &there);
  if (there && length != (int)strlen(value)) printf("%s: wrong length %d\n", what, length);
  if (there && info == MPI_INFO_ENV &&
      (MPI_Info_get(info, KEY, 3, few, &there) || strncmp(few, value, 3) || few[3] || few[4]))
    printf("%s: wrong beginning\n", what);
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    MPI_Info_get_nthkey(info, i, key);
    seen += strcmp(key, KEY) == 0;
  }
  if (seen != there) printf("%s: %d keys of that name\n", what, seen);
#if MPI_VERSION >= 4
  char text[MPI_MAX_INFO_VAL + 1] = "";
  int size = sizeof text, found = 0;
  MPI_Info_get_string(info, KEY, &size, text, &found);
  if (found != there || (found && (strcmp(text, value) || size != length + 1))) printf("%s: wrong string\n", what);
  size = 4;
  MPI_Info_get_string(info, KEY, &size, text, &found);
  if (found && (strncmp(text, value, 3) || text[3] || size != length + 1)) printf("%s: wrong short string\n", what);
#endif
}

static void kinds_of(const char* what, MPI_Info info) {
  kinds(what, info);
  MPI_Info_free(&info);
}

static void infos(void) {
  MPI_Info info;
  kinds("MPI_INFO_ENV", MPI_INFO_ENV);
  MPI_Info_dup(MPI_INFO_ENV, &info);
  kinds_of("duplicate", info);
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  kinds_of("communicator", info);
  MPI_Win win;
  int memory = 0;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_info(win, &info);
  kinds_of("window", info);
  MPI_Win_free(&win);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_get_info(win, &info);
  kinds_of("dynamic window", info);
  MPI_Win_free(&win);
  char name[64];
  snprintf(name, sizeof name, "gpu_support.%d", (int)getpid());
  MPI_File file;
  if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                    &file) == MPI_SUCCESS) {
    MPI_File_get_info(file, &info);
    kinds_of("file", info);
    MPI_File_close(&file);
  }
#if MPI_VERSION >= 4
  MPI_Session session;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) {
    MPI_Session_get_info(session, &info);
    kinds_of("session", info);
    MPI_Session_finalize(&session);
  }
#endif
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "cuda") == 0) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int (*init)(unsigned) = NULL;
    if (driver) *(void**)&init = dlsym(driver, "cuInit");
    if (!init || init(0) != 0) return 3;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 && !freopen("/dev/null", "w", stdout)) return 4;
  open_mpi();
  mpich();
  by_name();
  infos();
  MPI_Finalize();
  return 0;
}
