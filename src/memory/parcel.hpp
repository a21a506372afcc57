// The packed bytes of one message in staging memory: in one piece, or in two pieces with a gap
// between them. The gap is for MPIs that must not see contiguous data (plan/host.cpp says which and
// why).
#pragma once

#include <algorithm>
#include <cstring>

#include "memory/buffer.hpp"
#include "memory/staging.hpp"

namespace dunnage::memory {

struct Parcel {
  static constexpr std::int64_t gap = 64;  // bytes: one cache line

  Staging staging;
  std::int64_t size = 0;   // packed bytes
  std::int64_t first = 0;  // packed bytes before the gap; equal to `size` if there is no gap

  /// How many bytes of a message of `size` bytes come before the gap. Both parts have at least one
  /// byte if `size` is 2 or more.
  static constexpr std::int64_t middle(std::int64_t size) { return size >= 4 * gap ? size / 2 / gap * gap : size / 2; }

  explicit operator bool() const { return static_cast<bool>(staging); }
  char* data() const { return staging.data(); }
  bool on_device() const { return staging.on_device(); }
  bool divided() const { return first != size; }

  /// Calls f(memory, begin, end) for each contiguous piece of a range of the packed bytes.
  template <class F>
  void each_piece(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin < std::min(end, first)) f(data() + begin, begin, std::min(end, first));
    if (end > first) f(data() + std::max(begin, first) + gap, std::max(begin, first), end);
  }
  /// Packs the first `bytes` bytes of the buffer into the parcel. Throws what the buffer throws.
  void gather(const Buffer& buffer, std::int64_t bytes) const {
    each_piece(0, bytes, [&](char* to, std::int64_t begin, std::int64_t end) { buffer.pack(to, begin, end); });
  }
  /// Unpacks the first `bytes` bytes of the parcel into the buffer, or all if the parcel has fewer.
  void deliver(const Buffer& buffer, std::int64_t bytes) const {
    each_piece(0, std::min(bytes, size),
               [&](const char* from, std::int64_t begin, std::int64_t end) { buffer.unpack(from, begin, end); });
  }
  void write(const void* bytes, std::int64_t begin, std::int64_t end) const {
    each_piece(begin, end, [&](char* to, std::int64_t b, std::int64_t e) {
      std::memcpy(to, static_cast<const char*>(bytes) + (b - begin), static_cast<std::size_t>(e - b));
    });
  }
  void read(void* bytes, std::int64_t begin, std::int64_t end) const {
    each_piece(begin, end, [&](const char* from, std::int64_t b, std::int64_t e) {
      std::memcpy(static_cast<char*>(bytes) + (b - begin), from, static_cast<std::size_t>(e - b));
    });
  }
};

}  // namespace dunnage::memory
