// Division by a number that is known before the launch, as one multiplication and one shift.
//
// Source: T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication",
// PLDI 1994, theorem 4.2: with s = ceil(log2 d) and m = ceil(2^(N+s) / d), floor(n / d) = floor(n m
// / 2^(N+s)) for all n below 2^N. Here N is one less than the bits of the word, so that m fits into
// the word.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "pack/cuda/portable.hpp"

namespace dunnage::pack::cuda {

/// The upper half of a product.
DUNNAGE_HD std::uint32_t high_product(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b >> 32);
}
DUNNAGE_HD std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b >> 64);
#endif
}

/// Divides numbers below 2^31 (32-bit Index) or below 2^63 (64-bit Index) by a divisor from 1 to
/// that bound.
template <class Index>
struct Divisor {
  static_assert(std::is_unsigned_v<Index>);
  Index multiplier = 0;  // 0: the divisor is 1
  std::uint32_t shift = 0;

  Divisor() = default;
  explicit Divisor(Index d) {
    if (d <= 1) return;
    constexpr int word = 8 * sizeof(Index);
    if ((d & (d - 1)) == 0) {  // the same result as below, without the slow division
      multiplier = Index{1} << (word - 1);
      shift = static_cast<std::uint32_t>(std::countr_zero(d) - 1);
      return;
    }
    int s = 0;  // ceil(log2 d)
    while (s < word - 1 && (Index{1} << s) < d) ++s;
    __extension__ using Wide = std::conditional_t<sizeof(Index) == 4, std::uint64_t, unsigned __int128>;
    multiplier = static_cast<Index>(((Wide{1} << (word - 1 + s)) + d - 1) / d);
    shift = static_cast<std::uint32_t>(s - 1);
  }
  DUNNAGE_HD Index quotient(Index n) const { return multiplier ? high_product(n, multiplier) >> shift : n; }
};

}  // namespace dunnage::pack::cuda
