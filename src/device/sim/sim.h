/* The simulated device's own functions, beside those of cuda.h. docs/reference/simulated-device.md describes it. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One launch of a kernel. `params[i]` points to a copy of the i-th parameter, made when it was launched. */
struct dunnageSimLaunch {
  unsigned gridDim[3];
  unsigned blockDim[3];
  unsigned sharedBytes;
  void* const* params;
};

/* Makes `name` a kernel of every module: `run` executes the whole grid. Its `count` parameters have these sizes. A second
   registration of a name replaces the first for functions that are looked up from then on. */
void dunnageSimRegisterKernel(const char* name, void (*run)(const struct dunnageSimLaunch*), const size_t* sizes, int count);

/* Where the simulator itself can reach what a program knows as `address`: the identity for host, pinned and managed memory.
   It takes no lock and looks nothing up, so that a kernel may call it for every element. A CUdeviceptr is cast to void*. */
void* dunnageSimTranslate(const void* address);

/* Makes the (after+1)-th coming call of a function return `code`. The function has its name in cuda.h, without a suffix, or
   is a class of them: "alloc", "copy", "launch", "ipc"; or "kernel": the kernel is launched and fails when it runs. Sticky: the
   current context is dead from then on, until it is reset; a kernel's failure always is. */
void dunnageSimFail(const char* function, int after, int code, int sticky);
void dunnageSimFailClear(void);

/* How many calls of a function (NULL: of all in cuda.h) this process has made. */
unsigned long long dunnageSimCalls(const char* function);

#ifdef __cplusplus
}
#endif
