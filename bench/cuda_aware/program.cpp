#include "cuda_aware/program.hpp"

#include <mpi.h>

#include <cstdio>
#include <optional>

namespace bench {

int run_program(const std::string& name, bool on_device, int& argc, char**& argv,
                const std::function<bool(const Gpu*)>& run) try {
  std::optional<Gpu> gpu;
  if (on_device) gpu.emplace(rank_before_init());
  MPI_Init(&argc, &argv);
  const bool right = run(gpu ? &*gpu : nullptr);
  MPI_Finalize();
  return right ? 0 : 1;
} catch (const NoDevice& nothing) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), nothing.what());
  return 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
  int begun = 0;
  MPI_Initialized(&begun);
  if (begun) MPI_Abort(MPI_COMM_WORLD, 2);  // the other ranks wait
  return 2;
}

}  // namespace bench
