// What MPI benchmarks in host and device memory begin and end with.
#pragma once

#include <functional>
#include <string>

#include "cuda_aware/gpu.hpp"

namespace bench {

/// Begins MPI, runs, and ends MPI. If the data are in device memory, takes a GPU before MPI_Init,
/// as CUDA-aware MPIs ask; `run` gets it, else null. `run` returns whether all bytes were right.
/// Returns the exit status: 0 done, 1 wrong bytes, 2 another error, 3 no GPU. Errors are printed
/// with the program's name.
int run_program(const std::string& name, bool on_device, int& argc, char**& argv,
                const std::function<bool(const Gpu*)>& run);

}  // namespace bench
