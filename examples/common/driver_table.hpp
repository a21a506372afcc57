// The functions of CUDA's driver that an example calls. The driver is opened when the program runs,
// so the program also starts where there is none. To be included once, after the macro
// DRIVER_FUNCTIONS(X), which names the functions.
#pragma once

#include <dlfcn.h>

#include "device/cuda_driver_api.h"

namespace {

struct {
#define MEMBER(name) decltype(&::name) name;
  DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
} driver;

// The header renames functions to their current versions (cuMemAlloc is cuMemAlloc_v2). The new
// name is that of the symbol.
#define TEXT(name) #name
#define SYMBOL(name) TEXT(name)

/// Looks the functions up. Returns null, or the name of one that the library lacks.
const char* fill_driver_table(void* library) {
#define LOOK_UP(name)                                                              \
  driver.name = reinterpret_cast<decltype(&::name)>(dlsym(library, SYMBOL(name))); \
  if (!driver.name) return SYMBOL(name);
  DRIVER_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
  return nullptr;
}

}  // namespace
