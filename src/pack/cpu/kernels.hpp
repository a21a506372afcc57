// The inner loops of the host pack engine, compiled once per instruction set and chosen at run time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::pack {

enum class Direction { pack, unpack };

/// One loop of a nest: how often, and how far apart in the user's buffer and in the packed one (bytes).
struct Dim {
  std::int64_t count, user, packed;
};

/// Two innermost loops over blocks of `block` bytes; `outer` may have a count of 1.
struct Rows {
  char* user;
  char* packed;
  Dim outer, inner;
  std::int64_t block;
  bool far;  // the user's memory is not expected in the caches: ask for it ahead
};

/// Blocks of one length at the given offsets, packed densely one after the other.
template <class Offset>
struct Units {
  char* user;
  char* packed;
  const Offset* offsets;
  std::int64_t count;
  std::int64_t length;
  bool far;
};

/// Blocks of any lengths: block i is prefix[i + 1] - prefix[i] bytes.
struct Blocks {
  char* user;
  char* packed;
  const std::int64_t* offsets;
  const std::int64_t* prefix;
  std::int64_t count;
  bool far;
};

/// A matrix of `element`-byte elements, transposed: to[c * to_row + r * element] = from[r * from_row + c * element].
struct Transpose {
  char* to;
  const char* from;
  std::int64_t to_row, from_row;  // bytes
  std::int64_t rows, columns;     // of `from`
  std::int64_t element;           // 4, 8 or 16 bytes
  bool stream;                    // store past the caches
};

struct Kernels {
  const char* target;  // the instruction set's name
  void (*pack_rows)(const Rows&);
  void (*unpack_rows)(const Rows&);
  void (*pack_tiles)(const Rows&);    // outer.user < inner.user: loops interchanged, tile by tile
  void (*unpack_tiles)(const Rows&);
  void (*pack_near_units)(const Units<std::int32_t>&);
  void (*unpack_near_units)(const Units<std::int32_t>&);
  void (*pack_units)(const Units<std::int64_t>&);
  void (*unpack_units)(const Units<std::int64_t>&);
  void (*pack_blocks)(const Blocks&);
  void (*unpack_blocks)(const Blocks&);
  void (*transpose)(const Transpose&);
  void (*pack_stream_rows)(const Rows&);    // long blocks, stored past the caches one by one
  void (*unpack_stream_rows)(const Rows&);
  void (*stream)(char* to, const char* from, std::int64_t n);  // copy with stores that bypass the caches
  void (*fence)();                                             // makes streamed stores visible to other cores
};

/// The kernels for this processor. Chosen at the first call; thread-safe.
const Kernels& kernels();

/// Limits the instruction set: auto, scalar, sse4, avx2 or avx512. Call before the first use of kernels();
/// returns false for an unknown name.
bool limit_simd(std::string_view name);

}  // namespace dunnage::pack
