// What the programs of two ranks begin with, after MPI_Init.
#pragma once

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace bench {

/// Reads the options and sees to it that there are two ranks. Returns nothing where the program goes on; else it has said why not
/// on one rank and ended MPI, and this is its exit code.
inline std::optional<int> begin_on_two_ranks(CLI::App& app, int argc, char** argv, const char* program) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::optional<int> code;
  try {
    app.parse(argc, argv);
    if (ranks != 2) {
      if (rank == 0) std::fprintf(stderr, "%s: needs 2 ranks, has %d\n", program, ranks);
      code = 2;
    }
  } catch (const CLI::ParseError& e) {
    code = rank == 0 ? app.exit(e) : 0;
  }
  if (code) MPI_Finalize();
  return code;
}

}  // namespace bench
