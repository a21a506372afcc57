// The datatype of all cases: blocks of doubles with gaps of the same length.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>

#include "common/past.hpp"
#include "noncontiguous_send/buffers.hpp"

namespace bench::tune {

class Vector {
 public:
  /// `bytes` and `block` are lengths in bytes, multiples of 8.
  Vector(long bytes, long block)
      : count_(static_cast<std::size_t>(bytes / 8)), block_(static_cast<std::size_t>(block / 8)) {
    MPI_Type_vector(static_cast<int>(bytes / block), static_cast<int>(block_), static_cast<int>(2 * block_), MPI_DOUBLE,
                    &type_);
    MPI_Type_commit(&type_);
  }
  ~Vector() { MPI_Type_free(&type_); }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  MPI_Datatype get() const { return type_; }

  /// Writes values that differ from place to place and from salt to salt, as far as strided data
  /// reaches.
  void fill(const Array& from, int salt) const {
    for (std::size_t i = 0; i < reach(from); ++i) from.data()[i] = salt * 0x1p32 + static_cast<double>(i);
  }
  /// Writes a value that fill() never writes, as far as strided data reaches.
  void poison(const Array& to) const { std::fill_n(to.data(), reach(to), poisoned); }

  /// Returns whether `to` has the right data, and poison elsewhere. If `strided` is false, `from`
  /// is strided and `to` is contiguous. If `strided` is true, `from` is contiguous and `to` is
  /// strided.
  bool packed_right(const Array& from, const Array& to, bool strided) const {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::size_t apart = i + i / block_ * block_;
      if (to.data()[strided ? apart : i] != from.data()[strided ? i : apart]) return false;
      if (strided && to.data()[apart + block_] != poisoned) return false;
    }
    return strided || to.size() == count_ || to.data()[count_] == poisoned;
  }

 private:
  static constexpr double poisoned = -1;
  std::size_t reach(const Array& array) const { return std::min(2 * count_, array.size()); }

  std::size_t count_, block_;
  MPI_Datatype type_;
};

/// Returns `rank`'s answer on both ranks.
inline bool agreed(bool answer, int rank) {
  static const auto broadcast = BENCH_PAST(MPI_Bcast);
  broadcast(&answer, 1, MPI_C_BOOL, rank, MPI_COMM_WORLD);
  return answer;
}

}  // namespace bench::tune
