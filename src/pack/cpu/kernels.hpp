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
};

/// `repeat.count` times a list of blocks, packed densely one after the other.
struct Blocks {
  char* user;
  char* packed;
  std::int64_t repeats, stride;   // of the whole list, in the user's buffer
  const std::int64_t* offsets;    // of each block
  std::int64_t count;             // blocks in the list
  std::int64_t length;            // of every block; 0: see prefix
  const std::int64_t* prefix;     // differences are the lengths
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
  void (*pack_blocks)(const Blocks&);
  void (*unpack_blocks)(const Blocks&);
  void (*transpose)(const Transpose&);
  void (*stream)(char* to, const char* from, std::int64_t n);  // copy with stores that bypass the caches
  void (*fence)();                                             // makes streamed stores visible to other cores
};

/// The kernels for this processor. Chosen at the first call; thread-safe.
const Kernels& kernels();

/// Limits the instruction set: auto, scalar, sse4, avx2 or avx512. Call before the first use of kernels();
/// returns false for an unknown name.
bool limit_simd(std::string_view name);

}  // namespace dunnage::pack
