#include "bcast/buffers.hpp"

#include <cstring>

namespace bench {
namespace {

constexpr std::int64_t line = 64;

/// Of byte i. Neighbours, chunks and salts all differ.
std::uint8_t value(std::int64_t i, unsigned salt) {
  auto x = static_cast<std::uint64_t>(i) + (std::uint64_t{salt} << 40);
  x *= 0x9E3779B97F4A7C15u;
  return static_cast<std::uint8_t>(x >> 56);
}

}  // namespace

Buffers::Buffers(std::int64_t bytes, int count)
    : bytes_(bytes), stride_((bytes + 2 * line - 1) / line * line), count_(static_cast<std::size_t>(count)), memory_(static_cast<std::size_t>(stride_) * count_ + line) {}

char* Buffers::next() {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) % line;
  return memory_.data() + (begin ? line - static_cast<std::int64_t>(begin) : 0) + static_cast<std::int64_t>(turn_++ % count_) * stride_;
}

void fill(char* data, std::int64_t bytes, unsigned salt) {
  for (std::int64_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(value(i, salt));
}

bool holds(const char* data, std::int64_t bytes, unsigned salt) {
  for (std::int64_t i = 0; i < bytes; ++i)
    if (data[i] != static_cast<char>(value(i, salt))) return false;
  return true;
}

}  // namespace bench
