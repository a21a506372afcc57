// Finds out who calls a PMPI function. The MPIs' Fortran interfaces are wrappers that call the C
// functions by these names. Open MPI's wrappers call all of them, and MPICH's some, in mpi_f08.
// Profiling tools call them too, and must not be taken for a program.
#pragma once

#include <atomic>
#include <cstdint>

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

}  // namespace dunnage::shim
