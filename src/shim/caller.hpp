// Who calls a PMPI function. The MPIs' Fortran interfaces are wrappers that call the C functions by these names, all of
// them (Open MPI) or some (MPICH, in mpi_f08); so do profiling tools, which must not be taken for a program.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::shim {

enum class Caller {
  mpi,      // the MPI's C library, on its own business
  fortran,  // its Fortran interface, for the program
  other,    // a tool, or the program itself
};

/// A loaded file with code that has called us.
struct Module {
  std::uintptr_t begin;
  std::uintptr_t size;
  Caller is;
  const Module* next;
};

/// The newest first. It only grows, to the few files that ever call.
extern std::atomic<const Module*> modules;
Caller find_caller(const void* code);

/// Whose code this is.
inline Caller caller(const void* code) {
  for (const auto* m = modules.load(std::memory_order_acquire); m; m = m->next)
    if (reinterpret_cast<std::uintptr_t>(code) - m->begin < m->size) return m->is;
  return find_caller(code);
}

}  // namespace dunnage::shim
