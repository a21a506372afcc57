// What the MPI carries in place of the user's buffer: a parcel of packed bytes, or an announcement.
#pragma once

#include <span>

#include "memory/parcel.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/packed_type.hpp"
#include "transport/ticket.hpp"

namespace dunnage::mpi {

/// Memory to stage a buffer's data in: page-locked if the data are in a GPU's memory and some is to
/// be had. `in_device`: that GPU's memory, if there is some and the data are long enough. Empty if
/// there is no memory.
memory::Staging staging_for(const memory::Buffer& buffer, std::int64_t size, bool in_device = false);

/// Memory of the GPU in whose memory the buffer is. Empty if there is none, or the buffer is in
/// host memory.
memory::Staging device_staging_for(const memory::Buffer& buffer, std::int64_t size);

/// A parcel for `size` bytes of a buffer, in one piece or in two as the MPI needs it. Empty if
/// there is no memory. `both`: the parcel is sent from and received into.
memory::Parcel parcel_for(const memory::Buffer& buffer, plan::Operation operation, std::int64_t size, bool both = false,
                          bool in_device = false);

/// Bytes from one part of a packed copy to the next: each begins where kernels move the widest
/// words.
constexpr std::int64_t with_gap(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

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

// Announcements: what the MPI carries in place of data (transport/ticket.hpp). Each function
// returns a parcel with the announcement, empty if there is no memory.
/// A ticket behind the first `carried` bytes of the data.
memory::Parcel announce_ticket(const transport::Ticket& ticket, std::int64_t length, const memory::Buffer& data,
                               std::int64_t carried);
/// A ticket behind `head`, without data.
memory::Parcel announce_ticket(const transport::Ticket& ticket, std::int64_t length, std::span<const char> head);
/// A token at the beginning of a message that is as long as the data.
memory::Parcel announce_token(std::uint64_t token, std::int64_t length);

}  // namespace dunnage::mpi
