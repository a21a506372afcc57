// MPI_Win_create and its kin, when a rank has device memory.
#pragma once

#include "base/function_ref.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

/// Whether memory is a device's and the MPI does not reach it.
bool beyond_mpi(const void* base, MPI_Aint size);

/// MPI_Win_create. `make(memory, size)` calls the MPI. Returns what the call is to return.
int make_window(Hook hook, void* base, MPI_Aint size, std::int64_t unit, MPI_Comm comm, MPI_Win* win,
                base::FunctionRef<int(void*, MPI_Aint)> make);
/// MPI_Win_create_dynamic. `make()` calls the MPI.
int make_dynamic_window(MPI_Comm comm, MPI_Win* win, base::FunctionRef<int()> make);
/// MPI_Win_attach of memory beyond the MPI. Returns what the call is to return.
int attach_to_window(Hook hook, MPI_Win win, void* base, MPI_Aint size);
/// MPI_Win_detach. Returns false if it is the MPI's affair.
bool detach_from_window(MPI_Win win, const void* base);
/// Whether this rank may attach device memory to a window.
bool attaches_device_memory(MPI_Win win);
/// MPI_Win_free. `end()` calls the MPI.
int end_window(MPI_Win* win, base::FunctionRef<int()> end);

/// At MPI_Finalize: gives back what is kept with windows, and frees those that the program was not
/// given.
void finish_windows();

}  // namespace dunnage::mpi
