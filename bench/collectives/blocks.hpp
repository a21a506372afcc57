// The buffer of a rank: one block for each rank of the communicator, side by side.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench::collectives {

/// `count` blocks of `bytes` packed bytes each. Strided: pieces of 128 bytes, as far apart as they
/// are long.
class Blocks {
 public:
  Blocks(Where where, int count, std::int64_t bytes, bool strided);
  ~Blocks() { MPI_Type_free(&type_); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  void* at() const { return memory_.place().at; }
  Place place() const { return memory_.place(); }
  /// Of one block.
  MPI_Datatype type() const { return type_; }
  /// Bytes from one block to the next.
  std::int64_t extent() const { return extent_; }
  /// What a block holds is named by a number.
  void fill(const std::vector<unsigned>& numbers);
  /// Whether each block holds the data of that number, and each gap those of `gaps`.
  bool holds(const std::vector<unsigned>& numbers, unsigned gaps);

 private:
  bool in_gap(std::int64_t i) const { return i / piece_ % 2 != 0 && strided_; }

  const std::int64_t bytes_;
  const bool strided_;
  const std::int64_t piece_, extent_;
  std::vector<std::byte> image_;
  Memory memory_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace bench::collectives
