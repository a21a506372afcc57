// Exact small copies. No byte outside [0, n) is read or written, because the gaps of a datatype
// belong to the program.
#pragma once

#include <cstdint>
#include <cstring>

namespace dunnage::pack {

/// Copies a number of bytes that is known at compile time. The compiler makes plain loads and
/// stores of it.
template <std::int64_t N>
inline void copy_fixed(char* __restrict to, const char* __restrict from) {
  std::memcpy(to, from, N);
}

namespace detail {
/// Copies n bytes, W <= n <= 2W, with two moves of W bytes that may overlap.
template <std::int64_t W>
inline void copy_both_ends(char* __restrict to, const char* __restrict from, std::int64_t n) {
  char head[W], tail[W];
  std::memcpy(head, from, W);
  std::memcpy(tail, from + n - W, W);
  std::memcpy(to, head, W);
  std::memcpy(to + n - W, tail, W);
}
}  // namespace detail

/// Copies n bytes, n > 0. Up to 64 bytes, the usual case, need no function call.
inline void copy_some(char* __restrict to, const char* __restrict from, std::int64_t n) {
  if (n > 64) {
    std::memcpy(to, from, static_cast<std::size_t>(n));
  } else if (n >= 32) {
    detail::copy_both_ends<32>(to, from, n);
  } else if (n >= 16) {
    detail::copy_both_ends<16>(to, from, n);
  } else if (n >= 8) {
    detail::copy_both_ends<8>(to, from, n);
  } else if (n >= 4) {
    detail::copy_both_ends<4>(to, from, n);
  } else if (n >= 2) {
    detail::copy_both_ends<2>(to, from, n);
  } else {
    *to = *from;
  }
}

}  // namespace dunnage::pack
