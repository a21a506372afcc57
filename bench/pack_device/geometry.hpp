// Where the bytes of a case lie. This is written once for host and device, without MPI, and results
// are compared with it.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define BENCH_ANYWHERE __host__ __device__
#else
#define BENCH_ANYWHERE
#endif

namespace bench {

/// Returns the next multiple of the unit.
constexpr std::uint64_t up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

struct Loop {
  std::uint64_t count = 1, stride = 0;
};

/// Blocks within two nested loops, in the order of the datatype. Offsets and strides are bytes.
struct Geometry {
  std::uint64_t base = 0;  ///< from the begin of the user's buffer
  Loop outer = {}, inner = {};
  std::uint64_t bytes = 0;   ///< packed bytes of all blocks in one iteration of the inner loop
  std::uint64_t blocks = 1;  ///< blocks in one iteration
  std::uint64_t length = 0;  ///< bytes of every block; 0 if lengths differ
  /// Offsets of the blocks; null if there is one block, at 0.
  const std::uint64_t* offsets = nullptr;
  /// Packed offsets, blocks + 1 of them; null if all blocks have one length.
  const std::uint64_t* starts = nullptr;
};

BENCH_ANYWHERE inline std::uint64_t payload(const Geometry& g) { return g.outer.count * g.inner.count * g.bytes; }

/// Returns the place in the user's buffer of byte `packed` of the packed stream.
BENCH_ANYWHERE inline std::uint64_t place(const Geometry& g, std::uint64_t packed) {
  const std::uint64_t turn = packed / g.bytes, within = packed - turn * g.bytes;
  const std::uint64_t outer = turn / g.inner.count, inner = turn - outer * g.inner.count;
  std::uint64_t at = g.base + outer * g.outer.stride + inner * g.inner.stride;
  if (!g.offsets) return at + within;
  std::uint64_t block, first;
  if (g.length) {
    block = within / g.length;
    first = block * g.length;
  } else {
    std::uint64_t low = 0, high = g.blocks;
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (g.starts[middle] <= within)
        low = middle;
      else
        high = middle;
    }
    block = low;
    first = g.starts[block];
  }
  return at + g.offsets[block] + within - first;
}

/// Calls f(offset, length) for every block in order.
template <class F>
void for_each_block(const Geometry& g, F f) {
  for (std::uint64_t outer = 0; outer < g.outer.count; ++outer)
    for (std::uint64_t inner = 0; inner < g.inner.count; ++inner) {
      const std::uint64_t at = g.base + outer * g.outer.stride + inner * g.inner.stride;
      for (std::uint64_t block = 0; block < g.blocks; ++block)
        f(at + (g.offsets ? g.offsets[block] : 0), g.length ? g.length : g.starts[block + 1] - g.starts[block]);
    }
}

/// Returns the bytes of the user's buffer up to the end of the last block in memory.
inline std::uint64_t span(const Geometry& g) {
  std::uint64_t end = 0;
  for_each_block(
      g, [&end](std::uint64_t offset, std::uint64_t length) { end = offset + length > end ? offset + length : end; });
  return end;
}

/// Returns bytes that differ from place to place and from seed to seed. Byte `i` is part of word
/// i/8.
BENCH_ANYWHERE inline std::uint64_t pattern_word(std::uint64_t word, std::uint64_t seed) {
  std::uint64_t x = (word + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
  return x ^ (x >> 32);
}
BENCH_ANYWHERE inline unsigned char pattern(std::uint64_t i, std::uint64_t seed) {
  return static_cast<unsigned char>(pattern_word(i / 8, seed) >> (8 * (i % 8)));
}

}  // namespace bench
