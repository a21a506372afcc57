// What goes along one edge of an exchange, or comes: the three arguments that describe data.
#pragma once

#include <cstdint>

#include "mpi/process/mpi_table.hpp"

namespace dunnage::mpi {

struct EdgeData {
  const void* buffer;
  std::int64_t count;
  MPI_Datatype type;
};

}  // namespace dunnage::mpi
