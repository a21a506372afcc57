// Large counts for an MPI that knows int counts only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "mpi/process/communicators.hpp"
#include "mpi/process/mpi_table.hpp"

namespace dunnage::mpi {

/// The count, or -1, which every MPI refuses, where the smaller type does not hold it.
template <class Small>
Small narrow(MPI_Count count) {
  return count < 0 || count > std::numeric_limits<Small>::max() ? Small{-1} : static_cast<Small>(count);
}

/// The size of a buffer, or as much of it as the smaller type holds.
template <class Small>
Small clamp(MPI_Count size) {
  return static_cast<Small>(std::min<MPI_Count>(size, std::numeric_limits<Small>::max()));
}

/// MPI_Pack_size_c for an MPI whose MPI_Pack_size overflows an int unsaid.
int large_pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size);

/// An int copy of an array of counts or displacements. Movable; its data stays where it is.
class Narrowed {
 public:
  template <class Large>
  Narrowed(const Large* values, std::int64_t length) : null_(!values) {
    ints_.reserve(static_cast<std::size_t>(std::max<std::int64_t>(length, 1)));  // an array of nothing is not null
    for (std::int64_t i = 0; values && i < length; ++i) {
      lost_ = lost_ || values[i] > std::numeric_limits<int>::max() || values[i] < std::numeric_limits<int>::min();
      ints_.push_back(static_cast<int>(values[i]));
    }
  }
  /// Whether a value does not fit.
  bool lost() const { return lost_; }
  int* data() { return null_ ? nullptr : ints_.data(); }

 private:
  std::vector<int> ints_;
  bool lost_ = false, null_;
};

/// Reports through the communicator's error handler that an array has a value no int holds.
int too_large(MPI_Comm comm);

/// Keeps the arrays until the request is completed, or freed if it is persistent.
void keep_arrays(MPI_Request request, bool persistent, std::vector<Narrowed> arrays);
template <class... Arrays>
void keep(MPI_Request request, bool persistent, Arrays&&... arrays) {
  std::vector<Narrowed> all;
  (all.push_back(std::move(arrays)), ...);
  keep_arrays(request, persistent, std::move(all));
}

}  // namespace dunnage::mpi
