#include "common/cuda_driver.hpp"

#include <dlfcn.h>

namespace bench {
namespace {

// cuda.h renames functions to their current versions (cuMemAlloc is cuMemAlloc_v2). The new name is
// that of the symbol.
#define BENCH_TEXT(name) #name
#define BENCH_SYMBOL(name) BENCH_TEXT(name)

Driver open() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) throw NoDevice("cannot open CUDA's driver library libcuda.so.1");
  Driver found{};
#define BENCH_LOOK_UP(name)                                                             \
  found.name = reinterpret_cast<decltype(&::name)>(dlsym(library, BENCH_SYMBOL(name))); \
  if (!found.name) throw NoDevice("libcuda.so.1 has no " BENCH_SYMBOL(name) ": it is too old");
  BENCH_DRIVER_FUNCTIONS(BENCH_LOOK_UP)
#undef BENCH_LOOK_UP
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver found = open();
  return found;
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  driver().cuGetErrorName(result, &name);
  throw std::runtime_error(std::string(what) + " gave " + (name ? name : std::to_string(result)));
}

}  // namespace bench
