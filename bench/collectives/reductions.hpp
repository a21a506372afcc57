// The reductions that are measured: sums of doubles.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench::collectives {

/// `call(from, to, count)` reduces `count` doubles of each rank. Element i of rank r's data is
/// value_of(r, i). `result(rank, i, count)` is what element i of the result must be.
/// `results(rank, count)` is how many elements the rank gets. `before`, if there is one, is the
/// blocking call in which Dunnage's ranks agree about the nonblocking one.
struct Reduction {
  std::string name;
  std::function<void(double* from, double* to, int count)> call;
  bool in_place;  // the data are in the buffer of the result
  std::function<double(int rank, int i, int count)> result;
  std::function<int(int rank, int count)> results;
  std::function<void(double* from, double* to, int count)> before = nullptr;
};

/// Sums of these are exact.
inline double value_of(int rank, int i) { return (i * 7 + rank * 13) % 1021; }

std::vector<Reduction> reductions(int ranks);

/// The doubles of one rank. They are poisoned where no data were put.
class Doubles {
 public:
  Doubles(Where where, int count)
      : host_(static_cast<std::size_t>(count)), memory_(where, host_.size() * sizeof(double)) {}
  double* at() const { return reinterpret_cast<double*>(memory_.place().at); }
  Place place() const { return memory_.place(); }
  void fill(int rank);
  void poison();
  /// Whether the first elements are the result of rank `rank`, and the others are poison. `count`:
  /// of each rank's data.
  bool holds(const Reduction& reduction, int rank, int count);

 private:
  std::vector<double> host_;
  Memory memory_;
};

}  // namespace bench::collectives
