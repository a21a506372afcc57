// A user's buffer for a type with any lower bound, and the seed a random test runs with.
#pragma once

#include <cstdlib>
#include <vector>

#include "type/layout.hpp"

namespace dunnage::tests {

/// Room for `count` elements wherever their bytes lie; base() is the address that MPI would be
/// given.
class Buffer {
 public:
  Buffer(const type::Layout& layout, std::int64_t count, unsigned char fill, std::int64_t misalign = 0) {
    const auto all = type::loop(count, layout.extent, layout.data);
    const auto low = all.node ? all.offset + all.node->low : 0, high = all.node ? all.offset + all.node->high : 0;
    base_ = 64 + misalign - low;
    bytes.assign(static_cast<std::size_t>(high - low + 128 + misalign), fill);
  }
  unsigned char* base() { return bytes.data() + base_; }
  /// Different values everywhere, so that a misplaced byte shows.
  void number() {
    unsigned x = 1;
    for (auto& b : bytes) b = static_cast<unsigned char>((x = x * 1664525u + 1013904223u) >> 24);
  }
  std::vector<unsigned char> bytes;

 private:
  std::int64_t base_ = 0;
};

/// DUNNAGE_TEST_SECONDS and DUNNAGE_TEST_SEED, for longer runs and for repeating one.
inline long test_option(const char* name, long fallback) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : fallback;
}

}  // namespace dunnage::tests
