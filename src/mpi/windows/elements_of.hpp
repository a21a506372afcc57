// Packed data as arrays of one predefined datatype, reduced in host memory.
#pragma once

#include <vector>

#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// The predefined datatype that all elements of a datatype have. MPI_DATATYPE_NULL if the MPI does
/// not tell it.
MPI_Datatype element_of(MPI_Datatype type);

/// target = target op given, for packed elements of a predefined datatype. Returns an MPI error
/// code. Throws std::bad_alloc.
int reduce_packed(std::vector<char>& target, const std::vector<char>& given, MPI_Datatype element, MPI_Op op);

}  // namespace dunnage::mpi
