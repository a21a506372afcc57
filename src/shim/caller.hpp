// Finds out who calls a hook, and for a Fortran program where. The MPIs' Fortran interfaces are
// wrappers that call the C functions. Open MPI's wrappers call all of them by their PMPI names, and
// MPICH's some, in mpi_f08. Profiling tools call PMPI functions too, and must not be taken for a
// program.
#pragma once

#include <atomic>
#include <cstdint>

namespace dunnage::shim {

enum class Caller {
  mpi,      // the MPI's C library, for its own purposes
  fortran,  // the MPI's Fortran interface, for the program
  other,    // a tool, or the program itself
  dunnage,  // a function that notes the call
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
Caller find_owner(const void* code);

/// Returns whose code this is. Thread-safe.
inline Caller owner(const void* code) {
  for (const auto* m = modules.load(std::memory_order_acquire); m; m = m->next)
    if (reinterpret_cast<std::uintptr_t>(code) - m->begin < m->size) return m->is;
  return find_owner(code);
}

/// Lives in a function that calls a hook if a report is wanted, and notes where the program makes
/// that call. For Fortran it is the place in the program, not in the MPI's wrapper.
class NotedCall {
 public:
  /// Takes the address to which that function returns.
  explicit NotedCall(const void* return_address);
  NotedCall(const NotedCall&) = delete;
  NotedCall& operator=(const NotedCall&) = delete;
  ~NotedCall();

 private:
  const void* outer_;  // the call that this one is made in, or null
};

/// The caller of the call that is noted last.
Caller noted_caller();

/// Returns who calls the hook that returns to `code`. Thread-safe.
inline Caller caller(const void* code) {
  const auto who = owner(code);
  return who == Caller::dunnage ? noted_caller() : who;
}

}  // namespace dunnage::shim
