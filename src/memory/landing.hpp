// Where the MPI has put a received message, and where its data belong.
//
// A message that the MPI put into the user's buffer has no parcel. A message that came into staging
// memory lies in a parcel, and its data belong in the user's buffer.
#pragma once

#include "memory/parcel.hpp"
#include "pack/gpu/pack.hpp"

namespace dunnage::memory {

struct Landing {
  Buffer buffer;                   // where the data belong
  const Parcel* parcel = nullptr;  // where the message came, if not into the buffer; must outlive this

  /// Bytes that the receive has room for.
  std::int64_t capacity() const { return parcel ? parcel->size : buffer.size(); }
  /// The user's buffer, if the message came there and the buffer is contiguous host memory; else
  /// null.
  char* contiguous() const { return parcel ? nullptr : buffer.contiguous_host(); }
  /// Reads bytes [begin, end) of the message as it came. Throws what the memory throws.
  void read(void* bytes, std::int64_t begin, std::int64_t end) const {
    if (!parcel) return buffer.pack(static_cast<char*>(bytes), begin, end);
    if (!parcel->on_device()) return parcel->read(bytes, begin, end);
    parcel->each_piece(begin, end, [&](const char* from, std::int64_t b, std::int64_t e) {
      pack::gpu::gpu_copy(*device::driver(), static_cast<char*>(bytes) + (b - begin), from,
                          static_cast<std::size_t>(e - b));
    });
  }
  /// Puts the first `end` bytes of the message itself in their place.
  void settle(std::int64_t end) const {
    if (parcel)
      parcel->deliver(buffer, end);
    else if (const auto* packer = buffer.packer())
      packer->settle(end);
  }
  /// Puts bytes [begin, end) of the data in their place; ranges come in order.
  void place(const char* from, std::int64_t begin, std::int64_t end) const { buffer.unpack(from, begin, end); }
  /// After the last bytes.
  void finish() const {
    if (const auto* packer = buffer.packer()) packer->finish();
  }
  /// Before another message comes to the buffer.
  void restart() const {
    if (const auto* packer = buffer.packer()) packer->restart();
  }
};

}  // namespace dunnage::memory
