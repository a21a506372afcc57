// MPI_Win_create and its kin, when a rank has device memory.
#pragma once

#include "base/function_ref.hpp"
#include "mpi/process/error.hpp"

namespace dunnage::mpi {

/// Whether memory is a device's and the MPI does not reach it.
bool beyond_mpi(const void* base, MPI_Aint size);

/// MPI_Win_create. `make(memory, size)` calls the MPI. Returns what the call is to return.
int make_window(Hook hook, void* base, MPI_Aint size, MPI_Comm comm, MPI_Win* win,
                base::FunctionRef<int(void*, MPI_Aint)> make);
/// MPI_Win_free. `end()` calls the MPI.
int end_window(MPI_Win* win, base::FunctionRef<int()> end);

/// The error of a call that cannot take device memory.
int refuse_window(Hook hook, const ErrorsOf& errors);
/// At MPI_Finalize: gives back what is kept with windows, and frees those that the program was not
/// given.
void finish_windows();

}  // namespace dunnage::mpi
