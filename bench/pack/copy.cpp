#include "copy.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

void plain_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

#if defined(__x86_64__)

namespace {

__attribute__((target("avx"))) std::size_t stream_wide(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
  // Copies whole lines at a time, because otherwise the write-combining buffers leave partly
  // filled.
  for (; done + 64 <= bytes; done += 64) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done + 32));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + done), low);
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to + done + 32), high);
  }
  return done;
}

std::size_t stream_narrow(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::size_t done = 0;
  for (; done + 16 <= bytes; done += 16) {
    const __m128i word = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + done));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + done), word);
  }
  return done;
}

}  // namespace

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t done =
      __builtin_cpu_supports("avx") ? stream_wide(to, from, bytes) : stream_narrow(to, from, bytes);
  _mm_sfence();
  plain_copy(to + done, from + done, bytes - done);
}

#else

void streaming_copy(std::byte* to, const std::byte* from, std::size_t bytes) { plain_copy(to, from, bytes); }

#endif

}  // namespace bench
