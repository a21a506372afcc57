// The keyed hash function SipHash-2-4 (J.-P. Aumasson, D. J. Bernstein). Who does not know the key
// can neither tell a hash from a random number nor make one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dunnage::base {

using SipKey = std::array<std::uint64_t, 2>;

/// For processors whose numbers begin with the least significant byte.
inline std::uint64_t siphash(const SipKey& key, std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d, v2 = key[0] ^ 0x6c7967656e657261,
                v3 = key[1] ^ 0x7465646279746573;
  const auto rounds = [&](int n) {
    for (; n > 0; --n) {
      v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
      v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  std::uint64_t last = std::uint64_t{bytes.size()} << 56;
  for (; bytes.size() >= sizeof last; bytes.remove_prefix(sizeof last)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    take(word);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) last |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  take(last);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace dunnage::base
