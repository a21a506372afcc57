// Doubles laid out in several ways, so that ranks of one call differ.
#pragma once

#include "make.hpp"

/// n doubles, in one of four ways.
inline MPI_Datatype doubles(unsigned way, int n) {
  switch (way % 4) {
    case 0: return make::contiguous(n, MPI_DOUBLE);
    case 1: return make::vector(n, 1, 2, MPI_DOUBLE);
    case 2: return make::indexed({n / 2, n - n / 2}, {n, 0}, MPI_DOUBLE);
    default: return make::hvector(n, 1, 24, MPI_DOUBLE);
  }
}
