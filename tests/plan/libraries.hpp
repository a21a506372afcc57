#pragma once

#include "plan/machine_model.hpp"

namespace dunnage::plan {

inline const Library open_mpi{Library::Kind::open_mpi, 4, 1}, mpich{Library::Kind::mpich, 4, 0};

}  // namespace dunnage::plan
