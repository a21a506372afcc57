#include "past_caches.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

#if defined(__x86_64__)

namespace {

#define BENCH_AVX512 __attribute__((target("avx512f")))

constexpr std::size_t line = 64;
constexpr std::size_t ahead = 8192;  // bytes of payload between a prefetch and its copy

BENCH_AVX512 void stream(std::byte* to, __m512i v) { _mm512_stream_si512(reinterpret_cast<__m512i*>(to), v); }

BENCH_AVX512 void pack_lines(std::byte* packed, const std::byte* user, std::size_t count, std::size_t block,
                             std::size_t stride) {
  const std::size_t next = (ahead > block ? ahead / block : 1) * stride;
  for (std::size_t i = 0; i < count; ++i, user += stride, packed += block)
    for (std::size_t k = 0; k < block; k += line) {
      __builtin_prefetch(user + next + k, 0, 2);
      stream(packed + k, _mm512_loadu_si512(user + k));
    }
  _mm_sfence();
}

BENCH_AVX512 void unpack_lines(std::byte* user, const std::byte* packed, std::size_t count, std::size_t block,
                               std::size_t stride) {
  for (std::size_t i = 0; i < count; ++i, user += stride, packed += block)
    for (std::size_t k = 0; k < block; k += line) {
      __builtin_prefetch(packed + 2048 + k, 0, 2);
      stream(user + k, _mm512_loadu_si512(packed + k));
    }
  _mm_sfence();
}

/// Two vectors of the user's elements become one. The last ones are copied one by one.
template <class T>
BENCH_AVX512 void pack_every_other(std::byte* packed, const std::byte* user, std::size_t count) {
  constexpr std::size_t lanes = line / sizeof(T);
  const auto low = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
  const auto low_words = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  std::size_t i = 0;
  for (; i + lanes < count; i += lanes, user += 2 * line, packed += line) {
    const auto a = _mm512_loadu_si512(user), b = _mm512_loadu_si512(user + line);
    stream(packed, sizeof(T) == 8 ? _mm512_permutex2var_epi64(a, low, b) : _mm512_permutex2var_epi32(a, low_words, b));
  }
  for (std::size_t k = 0; i < count; ++i, ++k)
    reinterpret_cast<T*>(packed)[k] = reinterpret_cast<const T*>(user)[2 * k];
  _mm_sfence();
}

}  // namespace

void set_past_caches(Layout& layout, std::size_t count, std::size_t block, std::size_t stride) {
  if (!__builtin_cpu_supports("avx512f")) return;
  if (block % line == 0 && stride % line == 0) {
    layout.pack_past_caches = [=](std::byte* user, std::byte* packed) {
      pack_lines(packed, user, count, block, stride);
    };
    layout.unpack_past_caches = [=](std::byte* user, std::byte* packed) {
      unpack_lines(user, packed, count, block, stride);
    };
  } else if ((block == 4 || block == 8) && stride == 2 * block) {
    layout.pack_past_caches = [=](std::byte* user, std::byte* packed) {
      block == 8 ? pack_every_other<double>(packed, user, count) : pack_every_other<float>(packed, user, count);
    };
  }
}

#else

void set_past_caches(Layout&, std::size_t, std::size_t, std::size_t) {}

#endif

}  // namespace bench
