// The datatypes that a program commits, for `dunnage explain --types` (DUNNAGE_EXPLAIN).
#pragma once

#include <mpi.h>

namespace dunnage::mpi {

/// Notes a datatype that has just been committed, and measures how long the MPI and Dunnage take to
/// pack one element of it. Only if it is asked for. Never fails. Thread-safe.
void see_type(MPI_Datatype type);

/// Where it is asked for, the first rank writes the types that it has committed. Never fails: what
/// cannot be written is one line on standard error.
void tell_types();

}  // namespace dunnage::mpi
