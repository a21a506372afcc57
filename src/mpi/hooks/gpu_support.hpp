// The functions by which programs ask whether they may give device memory to the MPI:
// MPIX_Query_cuda_support of Open MPI and MPICH, MPIX_GPU_query_support of MPICH.
#pragma once

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Whether the buffers of MPI calls may be in device memory because Dunnage handles it.
/// Thread-safe.
bool takes_device_memory();

/// `mpi`: the MPI's own function, or null.
int query_cuda_support(Hook, int (*mpi)());
int gpu_query_support(Hook, int (*mpi)(int, int*), int type, int* supported);

}  // namespace dunnage::mpi
