// The packed bytes of one message in staging memory: in one piece, or in two with a gap between them, for an MPI
// that must not take them for contiguous data (plan/host.cpp says which and why).
#pragma once

#include <algorithm>

#include "engine/staging.hpp"
#include "pack/cpu/program.hpp"

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
  bool divided() const { return first != size; }

  /// Packs the user's buffer. Stores are cached ones: the MPI reads the staging memory at once.
  void gather(const pack::Program& program, const void* user) const {
    program.pack(user, data(), 0, first, pack::Stores::cached);
    if (divided()) program.pack(user, data() + first + gap, first, size, pack::Stores::cached);
  }
  /// Unpacks the first `bytes` bytes of the message, or all where there are fewer.
  void deliver(const pack::Program& program, void* user, std::int64_t bytes) const {
    bytes = std::min(bytes, size);
    program.unpack(data(), user, 0, std::min(bytes, first), pack::Stores::cached);
    if (bytes > first) program.unpack(data() + first + gap, user, first, bytes, pack::Stores::cached);
  }
};

}  // namespace dunnage::engine
