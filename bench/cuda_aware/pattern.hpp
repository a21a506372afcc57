// What is sent, and the check whether it has arrived.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench {

/// How the bytes of one message lie: all together, or in blocks with gaps of the same length.
struct Shape {
  std::size_t bytes = 0;  ///< bytes of the payload
  std::size_t block = 0;  ///< bytes of a block, a power of two; 0 if the message is contiguous

  std::size_t extent() const { return block ? 2 * bytes : bytes; }
};

/// Random bytes with a long period. A message takes its bytes from a place that depends on its
/// salt. Bytes that come late, belong to another message or lie elsewhere are therefore different.
/// No byte is the poison.
class Pattern {
 public:
  Pattern();

  static constexpr unsigned char poison = 0xff;

  /// Fills the whole extent, gaps included.
  void fill(Place to, const Shape& shape, std::size_t salt) const;
  /// Returns whether `at`, which was poisoned, has received the payload of a message filled with
  /// `salt`, and the gaps are untouched.
  bool arrived(Place at, const Shape& shape, std::size_t salt);

 private:
  const std::byte* from(std::size_t salt, std::size_t offset) const;
  const std::byte* expected(const Shape& shape, std::size_t salt, std::size_t offset, std::size_t bytes);

  Memory bytes_, received_;
  std::vector<std::byte> expected_;
  // Pinned, because a gigabyte is checked after each series.
  Pinned bytes_pinned_, received_pinned_;
};

}  // namespace bench
