// The packed bytes of one message in staging memory: in one piece, or in two with a gap between them, for an MPI
// that must not take them for contiguous data (plan/host.cpp says which and why).
#pragma once

#include <algorithm>
#include <cstring>

#include "engine/content.hpp"
#include "engine/staging.hpp"

namespace dunnage::engine {

struct Parcel {
  static constexpr std::int64_t gap = 64;  // bytes: one memory line

  Staging staging;
  std::int64_t size = 0;   // packed bytes
  std::int64_t first = 0;  // of these, how many come before the gap; all of them where there is none

  /// Where a message of `size` bytes is divided: both parts must have some.
  static constexpr std::int64_t middle(std::int64_t size) { return size >= 4 * gap ? size / 2 / gap * gap : size / 2; }

  explicit operator bool() const { return static_cast<bool>(staging); }
  char* data() const { return staging.data(); }
  bool on_device() const { return staging.on_device(); }
  bool divided() const { return first != size; }

  /// Calls f(memory, begin, end) for the pieces of a range of the packed bytes.
  template <class F>
  void each_piece(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin < std::min(end, first)) f(data() + begin, begin, std::min(end, first));
    if (end > first) f(data() + std::max(begin, first) + gap, std::max(begin, first), end);
  }
  /// Packs the first `bytes` bytes. Throws what the content throws.
  void gather(const Content& content, std::int64_t bytes) const {
    each_piece(0, bytes, [&](char* to, std::int64_t begin, std::int64_t end) { content.pack(to, begin, end); });
  }
  /// Unpacks the first `bytes` bytes of the message, or all where there are fewer.
  void deliver(const Content& content, std::int64_t bytes) const {
    each_piece(0, std::min(bytes, size), [&](const char* from, std::int64_t begin, std::int64_t end) { content.unpack(from, begin, end); });
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

}  // namespace dunnage::engine
