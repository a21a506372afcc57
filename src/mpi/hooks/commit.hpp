// MPI_Type_commit, as programs call it.
#pragma once

#include "mpi/process/seen_types.hpp"
#include "mpi/process/types.hpp"

namespace dunnage::mpi {

inline int commit(Hook hook, decltype(NextTable::MPI_Type_commit) next, MPI_Datatype* type) {
  const int rc = type_commit(hook, next, type);
  if (rc == MPI_SUCCESS) see_type(*type);
  return rc;
}

}  // namespace dunnage::mpi
