/* What the driver's answer takes which allocation an address is in, in nanoseconds:
   cuPointerGetAttribute, and cuPointerGetAttributes with a list of one.

     gcc -O2 -o pointer_attributes scripts/gpu/pointer_attributes.c -ldl && ./pointer_attributes */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef unsigned long long address;
enum { buffer_id = 7 /* CU_POINTER_ATTRIBUTE_BUFFER_ID */, calls = 200000, rounds = 5 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*init)(unsigned), (*retain)(void**, int), (*use)(void*), (*allocate)(address*, size_t);
  int (*one)(void*, int, address), (*list)(unsigned, int*, void**, address);
  *(void**)&init = dlsym(driver, "cuInit");
  *(void**)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&use = dlsym(driver, "cuCtxSetCurrent");
  *(void**)&allocate = dlsym(driver, "cuMemAlloc_v2");
  *(void**)&one = dlsym(driver, "cuPointerGetAttribute");
  *(void**)&list = dlsym(driver, "cuPointerGetAttributes");
  void* context = NULL;
  address device = 0, id = 0;
  if (init(0) || retain(&context, 0) || use(context) || allocate(&device, 1 << 20)) return 2;
  const address places[] = {device, (address)malloc(4096)};
  int attributes[] = {buffer_id}, status = 0;
  void* values[] = {&id};
  for (int round = 0; round < rounds; ++round)
    for (int host = 0; host < 2; ++host) {
      double begin = now();
      for (int i = 0; i < calls; ++i) status = one(&id, buffer_id, places[host]);
      const double single = (now() - begin) / calls;
      const int refused = status;
      begin = now();
      for (int i = 0; i < calls; ++i) status = list(1, attributes, values, places[host]);
      printf("%s: one %.0f ns, status %d; list %.0f ns, status %d\n", host ? "host" : "device", single, refused,
             (now() - begin) / calls, status);
    }
}
