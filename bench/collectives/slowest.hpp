// Times of calls that all ranks make together, and of the copy beside them.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"

namespace bench::collectives {

/// Seconds of each call on the slowest rank.
template <class Call>
std::vector<double> measured(int calls, Call&& call) {
  std::vector<double> here, slowest(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls + 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (i >= 2) here.push_back(spent.count());
  }
  MPI_Reduce(here.data(), slowest.data(), calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return slowest;
}

/// Copies by the GPU, or by memcpy if `stream` is null. Returns when the bytes are there.
inline void copy(const Place& from, const Place& to, std::int64_t bytes, const Stream* stream) {
  if (!stream) {
    std::memcpy(to.at, from.at, static_cast<std::size_t>(bytes));
    return;
  }
  BENCH_CU(cuMemcpyDtoDAsync, to.device(), from.device(), static_cast<std::size_t>(bytes), stream->get());
  stream->wait();
}

}  // namespace bench::collectives
