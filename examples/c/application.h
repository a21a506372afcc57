/* What md_halo.c and amr_fill_boundary.cpp share: the options of a program, and device memory.

   The CUDA driver is opened when the program runs. So the programs are built without CUDA, and run
   in host memory where there is no GPU. */
#pragma once

#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a text on rank 0 and ends the program. Every rank must call it. */
static inline void end_with(int status, const char* format, ...) {
  int rank;
  va_list values;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  va_start(values, format);
  if (rank == 0) vfprintf(status ? stderr : stdout, format, values);
  va_end(values);
  MPI_Finalize();
  exit(status);
}

/* --- options --- */

struct option {
  const char* name; /* with its dashes */
  const char* meaning;
  int* value;        /* the default, and then what the user gave */
  int count, least;  /* so many whole numbers with commas between, each at least this */
  const char* words; /* or one of these words with | between: the value is its number, from 0 */
};

static inline int read_value(const struct option* option, const char* text) {
  if (option->words) {
    int number = 0;
    for (const char* word = option->words; word; ++number) {
      const char* const end = strchr(word, '|');
      const size_t length = end ? (size_t)(end - word) : strlen(word);
      if (strlen(text) == length && strncmp(word, text, length) == 0) {
        *option->value = number;
        return 1;
      }
      word = end ? end + 1 : NULL;
    }
    return 0;
  }
  for (int i = 0; i < option->count; ++i) {
    char* end;
    const long number = strtol(text, &end, 10);
    if (end == text || number < option->least || number > 1000000000) return 0;
    if (*end != (i + 1 < option->count ? ',' : '\0')) return 0;
    option->value[i] = (int)number;
    text = end + 1;
  }
  return 1;
}

static inline void print_help(const char* program, const struct option* options, int count) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("usage: mpirun -n RANKS %s [OPTION VALUE]...\n\n", program);
  for (int i = 0; i < count && rank == 0; ++i) {
    const struct option* const o = &options[i];
    if (o->words) printf("  %-14s %s: %s\n", o->name, o->meaning, o->words);
    if (!o->words) printf("  %-14s %s (default: %d", o->name, o->meaning, o->value[0]);
    for (int k = 1; k < o->count && !o->words; ++k) printf(",%d", o->value[k]);
    if (!o->words) printf(")\n");
  }
  end_with(0, "\nOf words, the first is the default. Exit status: 0 right, 1 wrong, 2 options, 3 device.\n");
}

/* Ends the program if an option or its value is wrong, and after --help. */
static inline void read_options(const char* program, int argc, char** argv, const struct option* options, int count) {
  for (int i = 1; i < argc; i += 2) {
    const struct option* option = NULL;
    if (strcmp(argv[i], "--help") == 0) print_help(program, options, count);
    for (int k = 0; k < count; ++k)
      if (strcmp(argv[i], options[k].name) == 0) option = &options[k];
    if (!option) end_with(2, "%s: there is no option %s; --help lists them\n", program, argv[i]);
    if (i + 1 == argc) end_with(2, "%s: %s needs a value\n", program, argv[i]);
    if (read_value(option, argv[i + 1])) continue;
    if (option->words) end_with(2, "%s: %s is one of %s, not %s\n", program, argv[i], option->words, argv[i + 1]);
    end_with(2, "%s: %s needs %d number(s) of at least %d, with commas between, not %s\n", program, argv[i],
             option->count, option->least, argv[i + 1]);
  }
}

/* --- device memory --- */

/* The functions of the CUDA driver that the programs use. A result of 0 means success. The driver
   takes addresses as integers. */
static struct {
  int (*init)(unsigned);
  int (*count)(int*);
  int (*device)(int*, int);
  int (*context)(void**, int);
  int (*use)(void*);
  int (*wait)(void);
  int (*allocate)(unsigned long long*, size_t);
  int (*release)(unsigned long long);
  int (*upload)(unsigned long long, const void*, size_t);
  int (*download)(void*, unsigned long long, size_t);
} driver;

/* One rank can fail alone, so this ends all ranks at once. */
static inline void check_driver(int result, const char* function) {
  if (result == 0) return;
  fprintf(stderr, "the CUDA driver: %s gave error %d\n", function, result);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Opens the driver and chooses a GPU: ranks of one host take turns. */
static inline void open_device(void) {
  static const char* const name[] = {"cuInit",          "cuDeviceGetCount", "cuDeviceGet",   "cuDevicePrimaryCtxRetain",
                                     "cuCtxSetCurrent", "cuCtxSynchronize", "cuMemAlloc_v2", "cuMemFree_v2",
                                     "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"};
  void* function[sizeof name / sizeof *name];
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  int rank = 0, devices = 0, device = 0;
  void* context = NULL;
  MPI_Comm host;
  for (size_t i = 0; i < sizeof name / sizeof *name; ++i) {
    function[i] = library ? dlsym(library, name[i]) : NULL;
    if (function[i]) continue;
    fprintf(stderr, "there is no %s of the CUDA driver: --memory device needs a GPU\n",
            library ? name[i] : "libcuda.so.1");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memcpy(&driver, function, sizeof driver);
  check_driver(driver.init(0), "cuInit");
  check_driver(driver.count(&devices), "cuDeviceGetCount");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  check_driver(driver.device(&device, rank % devices), "cuDeviceGet");
  check_driver(driver.context(&context, device), "cuDevicePrimaryCtxRetain");
  check_driver(driver.use(context), "cuCtxSetCurrent");
}

static inline void* device_allocate(size_t bytes) {
  unsigned long long address = 0;
  check_driver(driver.allocate(&address, bytes ? bytes : 1), "cuMemAlloc");
  return (void*)(size_t)address;
}

static inline void device_free(void* memory) { check_driver(driver.release((size_t)memory), "cuMemFree"); }

static inline void device_upload(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  check_driver(driver.upload((size_t)to, from, bytes), "cuMemcpyHtoD");
  /* The copy may return before the bytes are on the device. The MPI must find them there. */
  check_driver(driver.wait(), "cuCtxSynchronize");
}

static inline void device_download(void* to, const void* from, size_t bytes) {
  if (bytes) check_driver(driver.download(to, (size_t)from, bytes), "cuMemcpyDtoH");
}

/* Whether every rank's MPI says that it takes device memory. Ask when the device is open. Open MPI
   and MPICH have the function. It is looked up by name, so that the program can be built for any
   MPI. */
static inline int mpi_takes_device_memory(void) {
  int (*query)(void), yes, all;
  *(void**)&query = dlsym(dlopen(NULL, RTLD_LAZY), "MPIX_Query_cuda_support");
  yes = query && query() == 1;
  MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}
