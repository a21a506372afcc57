// What is put, got and accumulated: doubles side by side, or in pieces of 128 bytes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench::windows {

/// `bytes` of data: a multiple of 8, and of 128 if it is longer than that and strided. The pieces
/// of a strided buffer are as far apart as they are long.
class Buffer {
 public:
  Buffer(Where where, std::int64_t bytes, bool strided);
  ~Buffer() { MPI_Type_free(&type_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* at() const { return memory_.place().at; }
  Place place() const { return memory_.place(); }
  MPI_Aint extent() const { return static_cast<MPI_Aint>(host_.size() * sizeof(double)); }
  /// Of all the data.
  MPI_Datatype type() const { return type_; }
  /// Every double, those of gaps too, becomes what `value` says of its place.
  void fill(const std::function<double(std::int64_t)>& value);
  /// Whether the data are what `value` says, and the gaps what `gaps` says.
  bool holds(const std::function<double(std::int64_t)>& value, const std::function<double(std::int64_t)>& gaps);

 private:
  bool in_gap(std::int64_t i) const { return strided_ && i / piece_ % 2 != 0; }

  const bool strided_;
  const std::int64_t piece_;  // in doubles
  std::vector<double> host_;
  Memory memory_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace bench::windows
