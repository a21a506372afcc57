#pragma once

#include <cstddef>
#include <string>

namespace bench {

constexpr std::size_t cache_line = 64;

/// Removes memory from every cache, so that the next access comes from main memory.
class Evictor {
 public:
  Evictor();
  /// Returns "clflushopt", "clflush" or "rewrite". If the processor has no instruction for it, a
  /// large array is rewritten.
  const std::string& method() const { return method_; }
  void line_range(const std::byte* first, std::size_t bytes) const;
  /// Waits until all ranges are removed. Call it after the last range.
  void finish() const;

 private:
  std::string method_;
};

}  // namespace bench
