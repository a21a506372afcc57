// Times of calls that all ranks make together, and of the copy beside them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"

namespace bench::collectives {

/// Seconds of `most` calls on the slowest rank, or of fewer if those would take more than half a
/// second. Some calls before are not measured, in which ranks learn about each other.
template <class Call>
std::vector<double> measured(int most, Call&& call) {
  constexpr double enough = 0.5;  // seconds
  constexpr int least = 3, before = 12;
  const auto seconds = [&] {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double spent = 0, slow = 0;
  for (int i = 0; i < before && (i < 2 || spent < enough); ++i, spent += slow) {
    slow = seconds();
    MPI_Allreduce(MPI_IN_PLACE, &slow, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  const int calls = slow * most < enough ? most : std::min(most, std::max(least, static_cast<int>(enough / slow)));
  std::vector<double> slowest;
  for (int i = 0; i < calls; ++i) slowest.push_back(seconds());
  MPI_Allreduce(MPI_IN_PLACE, slowest.data(), calls, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
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
