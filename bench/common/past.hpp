// The MPI library's own functions. The preloaded library exports the PMPI_ names too, so a call of
// these would not go past it.
#pragma once

#include <dlfcn.h>
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace bench {

/// Returns the function `name` of the MPI library itself. Throws std::runtime_error if there is
/// none.
template <class F>
F past(const char* name) {
  // Nobody hooks this function, so the file that has it is the MPI library.
  Dl_info library;
  void* const unhooked = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
  void* handle = unhooked && dladdr(unhooked, &library) ? dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  void* const found = handle ? dlsym(handle, name) : nullptr;
  if (!found) throw std::runtime_error(std::string("cannot find the MPI library's own ") + name);
  return reinterpret_cast<F>(found);
}

}  // namespace bench

/// The MPI library's own function for a name of mpi.h.
#define BENCH_PAST(name) bench::past<decltype(&name)>("P" #name)
