// The predefined datatypes and operations of the MPI as the kernels of reductions have them.
#pragma once

#include <optional>

#include "mpi/process/process.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::mpi {

struct KernelOf {
  pack::cuda::Element element;
  pack::cuda::Operation operation;
};
/// What a kernel does for a datatype and an operation. Nothing if there is no kernel, or if the MPI
/// standard does not allow the pair. Thread-safe; to be asked after MPI_Init.
std::optional<KernelOf> kernel_of(MPI_Datatype type, MPI_Op op);

}  // namespace dunnage::mpi
