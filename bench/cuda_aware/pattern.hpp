// What is sent, and whether it has arrived.
#pragma once

#include <cstddef>
#include <vector>

#include "cuda_aware/memory.hpp"

namespace bench {

/// How the bytes of one message lie: all together, or in blocks with gaps of the same length between them.
struct Shape {
  std::size_t bytes = 0;  ///< of the payload
  std::size_t block = 0;  ///< a power of two; 0: contiguous

  std::size_t extent() const { return block ? 2 * bytes : bytes; }
};

/// Random bytes of a long period. A message takes them from a place that depends on its salt, so bytes that are late, that are
/// another message's or that lie elsewhere differ; none is the poison.
class Pattern {
 public:
  Pattern();

  static constexpr unsigned char poison = 0xff;

  /// All of the extent, gaps too.
  void fill(Place to, const Shape& shape, std::size_t salt) const;
  /// Whether `at`, poisoned before, has received the payload of a message filled with `salt`, and nothing has touched the gaps.
  bool arrived(Place at, const Shape& shape, std::size_t salt);

 private:
  const std::byte* from(std::size_t salt, std::size_t offset) const;
  const std::byte* expected(const Shape& shape, std::size_t salt, std::size_t offset, std::size_t bytes);

  Memory bytes_, received_;
  std::vector<std::byte> expected_;
  Pinned bytes_pinned_, received_pinned_;  // a gigabyte is looked at after each series
};

}  // namespace bench
