// The inner loops of the host's pack engine. They are compiled once for each instruction set and
// chosen at run time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dunnage::pack {

enum class Direction { pack, unpack };

/// One loop of a nest: its number of iterations, and its strides in bytes in the user's buffer and
/// in the packed one.
struct Dim {
  std::int64_t count, user, packed;
};

/// How the user's memory is prefetched, block after block, and into which cache. `batches`: many
/// blocks at once, into the second-level cache. `packed`: the packed bytes in place of it, for
/// writing.
enum class Prefetch { none, first_level, second_level, batches, packed };

/// Two innermost loops over blocks of `block` bytes; `outer` may have a count of 1.
struct Rows {
  char* user;
  char* packed;
  Dim outer, inner;
  std::int64_t block;
  Prefetch prefetch;
};

/// Blocks of one length at the given offsets in the user's buffer. They stand one after the other
/// in the packed one.
template <class Offset>
struct Units {
  char* user;
  char* packed;
  const Offset* offsets;
  std::int64_t count;
  std::int64_t length;
  bool far;
};

/// Blocks of any lengths. Block i has prefix[i + 1] - prefix[i] bytes.
struct Blocks {
  char* user;
  char* packed;
  const std::int64_t* offsets;
  const std::int64_t* prefix;
  std::int64_t count;
  bool far;
};

/// A matrix of elements to be transposed: to[c * to_row + r * element] = from[r * from_row + c *
/// element].
struct Transpose {
  char* to;
  const char* from;
  std::int64_t to_row, from_row;  // bytes
  std::int64_t rows, columns;     // of `from`
  std::int64_t element;           // 4, 8 or 16 bytes
  bool stream;                    // store past the caches
  bool far;                       // `from` is probably not cached: prefetch it
};

struct Kernels {
  const char* target;  // the instruction set's name
  void (*pack_rows)(const Rows&);
  void (*unpack_rows)(const Rows&);
  void (*pack_tiles)(const Rows&);  // for outer.user < inner.user: loops interchanged, tile by tile
  void (*unpack_tiles)(const Rows&);
  void (*pack_near_units)(const Units<std::int32_t>&);
  void (*unpack_near_units)(const Units<std::int32_t>&);
  void (*pack_units)(const Units<std::int64_t>&);
  void (*unpack_units)(const Units<std::int64_t>&);
  void (*pack_blocks)(const Blocks&);
  void (*unpack_blocks)(const Blocks&);
  void (*transpose)(const Transpose&);
  void (*pack_stream_rows)(const Rows&);  // for long blocks: each is stored past the caches
  void (*unpack_stream_rows)(const Rows&);
  void (*stream)(char* to, const char* from, std::int64_t n);  // copies with stores past the caches
  void (*fence)();                                             // makes stores past the caches visible to other cores
};

/// Returns the kernels for this processor. The first call chooses them. Thread-safe.
const Kernels& kernels();

/// Limits the instruction set to `name`: auto, scalar, sse4, avx2, avx512, neon or sve. Names of
/// another kind of processor limit nothing. Returns false if the name is unknown. Call this before
/// the first call of kernels().
bool limit_simd(std::string_view name);

}  // namespace dunnage::pack
