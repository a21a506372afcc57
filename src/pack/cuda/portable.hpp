// Lets nvcc compile this code for the device, and every compiler compile the same code for the
// host.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#ifndef __CUDACC__
#include "pack/cuda/held_stores.hpp"
#endif

#ifdef __CUDACC__
#define DUNNAGE_HD __host__ __device__ __forceinline__
#define DUNNAGE_UNROLL _Pragma("unroll")
#else
#define DUNNAGE_HD inline
#define DUNNAGE_UNROLL
#endif

namespace dunnage::pack::cuda {

/// W bytes that are moved at once. W is 1, 2, 4, 8 or 16. Addresses of words are multiples of W.
template <int W>
struct alignas(W) Word {
  using Part = std::conditional_t<W == 1, std::uint8_t, std::conditional_t<W == 2, std::uint16_t, std::uint32_t>>;
  Part part[W <= 4 ? 1 : W / 4];
};

template <int W>
DUNNAGE_HD Word<W> load(const char* from) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const Word<W>*>(from);
#else
  Word<W> word;
  std::memcpy(&word, from, W);
  return word;
#endif
}

template <int W>
DUNNAGE_HD void store(char* to, const Word<W>& word) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<Word<W>*>(to) = word;
#else
#ifndef __CUDACC__
  if (held_stores) return held_stores->hold(to, &word, W);
#endif
  std::memcpy(to, &word, W);
#endif
}

/// join() makes one word of V neighbouring words, and split() reverses join(). Little endian.
template <int W, int V>
DUNNAGE_HD Word<W * V> join(const Word<W> (&words)[V]) {
  Word<W * V> joined{};
  using Part = typename Word<W * V>::Part;
  constexpr int per = sizeof(Part) / (W < 4 ? W : 4);  // words in a part
  DUNNAGE_UNROLL
  for (int v = 0; v < V; ++v) {
    if constexpr (W < 4) {
      joined.part[v / per] =
          static_cast<Part>(joined.part[v / per] | static_cast<std::uint32_t>(words[v].part[0]) << (8 * W * (v % per)));
    } else {
      DUNNAGE_UNROLL
      for (int i = 0; i < W / 4; ++i) joined.part[v * (W / 4) + i] = words[v].part[i];
    }
  }
  return joined;
}
template <int W, int V>
DUNNAGE_HD void split(const Word<W * V>& joined, Word<W> (&words)[V]) {
  constexpr int per = sizeof(typename Word<W * V>::Part) / (W < 4 ? W : 4);
  DUNNAGE_UNROLL
  for (int v = 0; v < V; ++v) {
    if constexpr (W < 4) {
      words[v].part[0] = static_cast<typename Word<W>::Part>(joined.part[v / per] >> (8 * W * (v % per)));
    } else {
      DUNNAGE_UNROLL
      for (int i = 0; i < W / 4; ++i) words[v].part[i] = joined.part[v * (W / 4) + i];
    }
  }
}

}  // namespace dunnage::pack::cuda
