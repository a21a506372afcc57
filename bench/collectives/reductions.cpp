#include "collectives/reductions.hpp"

#include <mpi.h>

#include <algorithm>

namespace bench::collectives {
namespace {

constexpr double poison_value = -77.5;

double sum(int ranks, int i) {
  double all = 0;
  for (int rank = 0; rank < ranks; ++rank) all += value_of(rank, i);
  return all;
}

int everything(int, int count) { return count; }

void allreduce(double* from, double* to, int n) { MPI_Allreduce(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

void iallreduce(double* from, double* to, int n) {
  MPI_Request request;
  MPI_Iallreduce(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

}  // namespace

std::vector<Reduction> reductions(int ranks) {
  const auto total = [ranks](int, int i, int) { return sum(ranks, i); };
  return {
      {"allreduce", allreduce, false, total, everything},
      {"iallreduce", iallreduce, false, total, everything, allreduce},
      {"allreduce in place",
       [](double*, double* to, int n) { MPI_Allreduce(MPI_IN_PLACE, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
       true, total, everything},
      {"reduce",
       [](double* from, double* to, int n) { MPI_Reduce(from, to, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }, false,
       total, [](int rank, int count) { return rank == 0 ? count : 0; }},
      {"reduce_scatter_block",
       [ranks](double* from, double* to, int n) {
         MPI_Reduce_scatter_block(from, to, n / ranks, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
       },
       false, [ranks](int rank, int i, int count) { return sum(ranks, rank * (count / ranks) + i); },
       [ranks](int, int count) { return count / ranks; }},
      {"scan", [](double* from, double* to, int n) { MPI_Scan(from, to, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); },
       false, [](int rank, int i, int) { return sum(rank + 1, i); }, everything},
  };
}

void Doubles::fill(int rank) {
  for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = value_of(rank, static_cast<int>(i));
  put(memory_.place(), reinterpret_cast<const std::byte*>(host_.data()), host_.size() * sizeof(double));
}

void Doubles::poison() {
  std::fill(host_.begin(), host_.end(), poison_value);
  put(memory_.place(), reinterpret_cast<const std::byte*>(host_.data()), host_.size() * sizeof(double));
}

bool Doubles::holds(const Reduction& reduction, int rank, int count) {
  get(reinterpret_cast<std::byte*>(host_.data()), memory_.place(), host_.size() * sizeof(double));
  const auto results = static_cast<std::size_t>(reduction.results(rank, count));
  const auto poisoned = reduction.in_place ? host_.size() : results;
  for (std::size_t i = 0; i < results; ++i)
    if (host_[i] != reduction.result(rank, static_cast<int>(i), count)) return false;
  return std::all_of(host_.begin() + static_cast<std::ptrdiff_t>(poisoned), host_.end(),
                     [](double value) { return value == poison_value; });
}

}  // namespace bench::collectives
