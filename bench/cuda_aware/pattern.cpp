#include "cuda_aware/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace bench {
namespace {

// Bytes that are checked together; a multiple of every block and its gap.
constexpr std::size_t piece = std::size_t{4} << 20;
constexpr std::size_t period = 8388593;  // a prime, so that no regular displacement hits it

}  // namespace

// The bytes repeat after the period, so that every piece lies within the memory.
Pattern::Pattern()
    : bytes_(Where::host, period + piece),
      received_(Where::host, piece),
      expected_(piece),
      bytes_pinned_(bytes_),
      received_pinned_(received_) {
  std::mt19937_64 random(20130711);
  std::byte* const at = bytes_.place().at;
  for (std::size_t i = 0; i < period; ++i) at[i] = static_cast<std::byte>(random() % poison);
  std::memcpy(at + period, at, piece);
}

const std::byte* Pattern::from(std::size_t salt, std::size_t offset) const {
  return bytes_.place().at + (salt * 1000003 + offset) % period;
}

void Pattern::fill(Place to, const Shape& shape, std::size_t salt) const {
  for (std::size_t at = 0; at < shape.extent(); at += piece)
    put(to + at, from(salt, at), std::min(piece, shape.extent() - at));
}

const std::byte* Pattern::expected(const Shape& shape, std::size_t salt, std::size_t offset, std::size_t bytes) {
  const std::byte* const sent = from(salt, offset);
  if (shape.block == 0) return sent;
  std::memset(expected_.data(), poison, bytes);
  for (std::size_t row = 0; row < bytes; row += 2 * shape.block) std::memcpy(&expected_[row], sent + row, shape.block);
  return expected_.data();
}

bool Pattern::arrived(Place at, const Shape& shape, std::size_t salt) {
  for (std::size_t done = 0; done < shape.extent(); done += piece) {
    const std::size_t bytes = std::min(piece, shape.extent() - done);
    get(received_.place().at, at + done, bytes);
    if (std::memcmp(received_.place().at, expected(shape, salt, done, bytes), bytes) != 0) return false;
  }
  return true;
}

}  // namespace bench
