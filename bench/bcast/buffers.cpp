#include "bcast/buffers.hpp"

#include <algorithm>
#include <cstring>

namespace bench {
namespace {

constexpr std::int64_t line = 64;

/// Returns the value of bytes [8 i, 8 i + 8). Neighbours, chunks and salts all have different
/// values.
std::uint64_t word(std::int64_t i, unsigned salt) {
  return (static_cast<std::uint64_t>(i) + (std::uint64_t{salt} << 40) + 1) * 0x9E3779B97F4A7C15u;
}

template <class F>
void each_word(std::int64_t bytes, unsigned salt, F&& f) {
  for (std::int64_t at = 0; at < bytes; at += 8) {
    const auto value = word(at / 8, salt);
    f(at, &value, static_cast<std::size_t>(std::min<std::int64_t>(8, bytes - at)));
  }
}

}  // namespace

Buffers::Buffers(std::int64_t bytes, int count)
    : bytes_(bytes),
      stride_((bytes + 2 * line - 1) / line * line),
      count_(static_cast<std::size_t>(count)),
      memory_(static_cast<std::size_t>(stride_) * count_ + line) {}

char* Buffers::next() {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) % line;
  return memory_.data() + (begin ? line - static_cast<std::int64_t>(begin) : 0) +
         static_cast<std::int64_t>(turn_++ % count_) * stride_;
}

void fill(char* data, std::int64_t bytes, unsigned salt) {
  each_word(bytes, salt, [&](std::int64_t at, const void* value, std::size_t n) { std::memcpy(data + at, value, n); });
}

bool holds(const char* data, std::int64_t bytes, unsigned salt) {
  bool all = true;
  each_word(bytes, salt, [&](std::int64_t at, const void* value, std::size_t n) {
    all = all && std::memcmp(data + at, value, n) == 0;
  });
  return all;
}

}  // namespace bench
