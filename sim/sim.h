/* Functions that only the simulated device has. docs/reference/simulated-device.md describes the
   device. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One launch of a kernel. `params[i]` points to a copy of parameter i, made at the launch. */
struct dunnageSimLaunch {
  unsigned gridDim[3];
  unsigned blockDim[3];
  unsigned sharedBytes;
  void* const* params;
  unsigned residentBlocks; /* how many blocks of the grid run at once */
  unsigned holdsStores;    /* 1: others see stores only after a fence, or when the kernel has ended */
};

/* Adds a kernel called `name` to every module. `run` executes the whole grid. `sizes` are the bytes
   of its `count` parameters. If a name is registered again, functions that are looked up later use
   the new kernel. */
void dunnageSimRegisterKernel(const char* name, void (*run)(const struct dunnageSimLaunch*), const size_t* sizes,
                              int count);

/* The address at which the simulator itself reaches the memory that a program knows as `address`.
   Host memory, page-locked memory and managed memory keep their addresses. A CUdeviceptr is cast to
   void*. The function takes no lock and searches nothing, so a kernel may call it for every
   element. */
void* dunnageSimTranslate(const void* address);

/* Only `blocks` blocks still run of the kernel that the calling thread runs. */
void dunnageSimBlocksLeft(unsigned blocks);

/* Lets the next `after` calls of a function succeed, and makes the call after them return `code`.
   `function` is a name of the driver API without a suffix such as _v2, or a class of functions:
   "alloc", "copy", "launch" or "ipc". If `function` is "kernel", the launch succeeds, and the
   kernel fails when it runs. `sticky`: the current context is dead after the failure, until it is
   reset. The failure of a kernel is always sticky. */
void dunnageSimFail(const char* function, int after, int code, int sticky);
void dunnageSimFailClear(void);

/* How often this process has called a function, or all functions of the driver if `function` is
   NULL. */
unsigned long long dunnageSimCalls(const char* function);

#ifdef __cplusplus
}
#endif
