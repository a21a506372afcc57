#include "common/evict.hpp"

#include <algorithm>
#include <vector>

#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

#if defined(__x86_64__)

namespace {

__attribute__((target("clflushopt"))) void flush_optimized(const std::byte* first, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += cache_line) _mm_clflushopt(const_cast<std::byte*>(first + i));
}

void flush(const std::byte* first, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += cache_line) _mm_clflush(first + i);
}

bool has_clflushopt() {
  unsigned leaf = 7, subleaf = 0, b = 0, d = 0;
  asm("cpuid" : "+a"(leaf), "=b"(b), "+c"(subleaf), "=d"(d));
  return (b & (1u << 23)) != 0;
}

}  // namespace

Evictor::Evictor() : method_(has_clflushopt() ? "clflushopt" : "clflush") {}

void Evictor::line_range(const std::byte* first, std::size_t bytes) const {
  if (method_ == "clflushopt")
    flush_optimized(first, bytes);
  else
    flush(first, bytes);
}

void Evictor::finish() const { _mm_mfence(); }

#else

Evictor::Evictor() : method_("rewrite") {}

void Evictor::line_range(const std::byte*, std::size_t) const {}

void Evictor::finish() const {
  long cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  static std::vector<char> other(
      std::clamp<std::size_t>(2 * static_cast<std::size_t>(std::max(cache, 0l)), 64u << 20, 1024u << 20));
  for (std::size_t i = 0; i < other.size(); i += cache_line) ++other[i];
  asm volatile("" : : "r"(other.data()) : "memory");
}

#endif

}  // namespace bench
