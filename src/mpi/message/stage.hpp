// Staging memory for messages: a parcel of packed bytes and how the MPI is shown it.
#pragma once

#include "memory/parcel.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/packed_type.hpp"

namespace dunnage::mpi {

/// Memory to stage a buffer's data in: page-locked if the data are in a GPU's memory and some is to
/// be had. `in_device`: that GPU's memory, if there is some and the data are long enough. Empty if
/// there is no memory.
memory::Staging staging_for(const memory::Buffer& buffer, std::int64_t size, bool in_device = false);

/// A parcel for `size` bytes of a buffer, in one piece or in two as the MPI needs it. Empty if
/// there is no memory. `both`: the parcel is sent from and received into.
memory::Parcel parcel_for(const memory::Buffer& buffer, plan::Operation operation, std::int64_t size, bool both = false,
                          bool in_device = false);

/// How the MPI is shown a parcel: one element of a datatype with a gap, or bytes of MPI_PACKED.
class Shown {
 public:
  explicit Shown(const memory::Parcel& parcel)
      : parcel_(parcel),
        type_(parcel.divided() ? PackedType::divided(parcel.first, parcel.size - parcel.first) : PackedType()) {}
  explicit operator bool() const { return static_cast<bool>(type_); }
  char* data() const { return parcel_.data(); }
  std::int64_t count() const { return parcel_.divided() ? 1 : parcel_.size; }
  MPI_Datatype type() const { return type_.handle(); }

 private:
  const memory::Parcel& parcel_;
  PackedType type_;
};

/// Packs the first `bytes` bytes of the buffer. Returns an MPI error code; calls no handler.
int gather(const memory::Parcel& parcel, const memory::Buffer& buffer, std::int64_t bytes);
inline int gather(const memory::Parcel& parcel, const memory::Buffer& buffer) {
  return gather(parcel, buffer, parcel.size);
}
/// Unpacks the first `bytes` bytes of the parcel, or all if it has fewer. Returns an MPI error
/// code; calls no handler.
int deliver(const memory::Parcel& parcel, const memory::Buffer& buffer, std::int64_t bytes);

}  // namespace dunnage::mpi
