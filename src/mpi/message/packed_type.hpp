// The datatype by which the MPI is shown packed bytes: MPI_PACKED, or two blocks of it with a gap
// between them.
#pragma once

#include <cstdint>

#include "mpi/process/mpi_table.hpp"

namespace dunnage::mpi {

/// Owns its datatype only where that is not kept for the next message of the size. Movable.
/// Thread-safe.
class PackedType {
 public:
  PackedType() = default;
  PackedType(PackedType&& other) noexcept { *this = static_cast<PackedType&&>(other); }
  PackedType& operator=(PackedType&& other) noexcept;
  ~PackedType();

  /// `first` bytes, memory::Parcel::gap bytes of nothing, `second` bytes, of 1 to INT_MAX bytes
  /// each. Empty where the MPI will not make it.
  static PackedType divided(std::int64_t first, std::int64_t second);
  explicit operator bool() const { return handle_ != MPI_DATATYPE_NULL; }
  MPI_Datatype handle() const { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_PACKED;
  bool owned_ = false;
};

/// Frees what was kept, before MPI_Finalize.
void forget_packed_types();

}  // namespace dunnage::mpi
