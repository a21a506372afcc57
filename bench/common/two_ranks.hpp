// The beginning of programs with two ranks, after MPI_Init.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <optional>

#include "common/command_line.hpp"

namespace bench {

/// Reads the options and checks that there are two ranks. Returns nothing if the program can go on.
/// Otherwise one rank prints why not, MPI is finalized, and the exit code is returned.
inline std::optional<int> begin_on_two_ranks(CommandLine& line, int argc, char** argv, const char* program) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::optional<int> code = line.read(argc, argv, rank == 0);
  if (!code && ranks != 2) {
    if (rank == 0) std::fprintf(stderr, "%s: needs 2 ranks, has %d\n", program, ranks);
    code = 2;
  }
  if (code) MPI_Finalize();
  return code;
}

}  // namespace bench
