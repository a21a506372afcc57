// The memory that is broadcast, and what it must hold afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Buffers of one length, taken in turn. One buffer stays in the caches. Buffers that together
/// exceed the caches give messages that come from memory.
class Buffers {
 public:
  Buffers(std::int64_t bytes, int count);
  std::int64_t bytes() const { return bytes_; }
  char* next();

 private:
  std::int64_t bytes_, stride_;
  std::size_t count_, turn_ = 0;
  std::vector<char> memory_;
};

/// Writes a pattern that differs from salt to salt.
void fill(char* data, std::int64_t bytes, unsigned salt);
/// Returns whether `data` has the pattern of `salt`.
bool holds(const char* data, std::int64_t bytes, unsigned salt);

}  // namespace bench
