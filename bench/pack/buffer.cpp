#include "buffer.hpp"

#include <algorithm>
#include <cstring>

namespace bench {

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = state ^ (state >> 29);
    std::memcpy(bytes.data() + i, &word, std::min(sizeof word, bytes.size() - i));
  }
}

}  // namespace bench
