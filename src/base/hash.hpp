// The 64-bit hash function FNV-1a (G. Fowler, L. C. Noll, K.-P. Vo).
#pragma once

#include <cstdint>
#include <string_view>

namespace dunnage::base {

inline std::uint64_t hash(std::string_view bytes) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

}  // namespace dunnage::base
