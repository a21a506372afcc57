// Finds out who calls a hook, and for a Fortran program where. The MPIs' Fortran interfaces are
// wrappers that call the C functions. Open MPI's wrappers call all of them by their PMPI names, and
// MPICH's some, in mpi_f08. Profiling tools call PMPI functions too, and must not be taken for a
// program.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/process/call_sites.hpp"

namespace dunnage::shim {

enum class Caller {
  mpi,      // the MPI's C library, for its own purposes
  fortran,  // the MPI's Fortran interface, for the program
  other,    // a tool, or the program itself
};

/// A loaded file whose code has called us.
struct Module {
  std::uintptr_t begin;
  std::uintptr_t size;
  Caller is;
  const Module* next;
};

/// The known modules, the newest first. Modules are never removed. Only a few files ever call.
extern std::atomic<const Module*> modules;
/// Finds out whose code this is, and adds its file to the modules.
Caller find_caller(const void* code);

/// Returns whose code this is. Thread-safe.
inline Caller caller(const void* code) {
  for (const auto* m = modules.load(std::memory_order_acquire); m; m = m->next)
    if (reinterpret_cast<std::uintptr_t>(code) - m->begin < m->size) return m->is;
  return find_caller(code);
}

/// Returns to where the MPI's wrappers return that have called the hook that returns to `code`;
/// `code` itself if that is not known.
const void* past_the_wrappers(const void* code);

/// Returns where the program makes the call whose hook returns to `code`, which is wanted for the
/// outermost hook only. Thread-safe.
inline const void* place_in_program(const void* code) {
  return mpi::call_site || caller(code) == Caller::other ? code : past_the_wrappers(code);
}

}  // namespace dunnage::shim
