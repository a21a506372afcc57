// The kernels for rows of 16 bytes or more whose addresses share no wide alignment. Each thread
// writes one chunk of 16 bytes that is aligned on the side that is written. The bytes of a chunk
// are not aligned on the side that is read, so they are read as aligned words and shifted into
// place.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// A range of the packed stream in bytes. Byte `first` is at the address `packed`.
template <class Index>
struct Rows {
  Nest<Index> nest;  // its items are blocks
  char* packed = nullptr;
  Index block = 1;  // bytes
  Divisor<Index> by_block;
  Index first = 0;
  Index bytes = 0;
  Index lead = 0;         // pack: bytes from the last chunk boundary to `packed`
  Index first_block = 0;  // unpack: the block that contains byte `first`
  Index slots = 1;        // unpack: the most chunks that one block can touch
  Divisor<Index> by_slots;
  // Bytes outside [low, high) are never read, not even as a part of a word.
  const char *low = nullptr, *high = nullptr;
};

/// S bytes from S / 4 + 1 words, starting at byte `shift`.
template <int S>
DUNNAGE_HD Word<S> shifted(const std::uint32_t (&x)[S / 4 + 1], int shift) {
  Word<S> chunk{};
  DUNNAGE_UNROLL
  for (int i = 0; i < S / 4; ++i)
    chunk.part[i] = static_cast<std::uint32_t>((static_cast<std::uint64_t>(x[i + 1]) << 32 | x[i]) >> (8 * shift));
  return chunk;
}

/// Bytes [a, b) of the S bytes at `from`; the other bytes are undefined. Only words with a wanted
/// byte are read. `Whole` adds a fast path for the case that all bytes are wanted. Without `Whole`
/// that case is rare, and the test would only make the threads of a warp diverge.
template <int S, bool Whole>
DUNNAGE_HD Word<S> load_shifted(const char* from, int a, int b, const char* low, const char* high) {
  const int shift = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 3);
  const char* at = from - shift;
  std::uint32_t x[S / 4 + 1];
  if (Whole && a == 0 && b == S && at >= low && at + S + 4 <= high) {
    DUNNAGE_UNROLL
    for (int i = 0; i < S / 4; ++i) x[i] = load<4>(at + 4 * i).part[0];
    x[S / 4] = shift ? load<4>(at + S).part[0] : 0;
    return shifted<S>(x, shift);
  }
  DUNNAGE_UNROLL
  for (int i = 0; i <= S / 4; ++i) {
    const int begin = 4 * i - shift;  // position of the word in the chunk
    x[i] = 0;
    if (begin >= b || begin + 4 <= a) continue;
    if (at + 4 * i >= low && at + 4 * i + 4 <= high) {
      x[i] = load<4>(at + 4 * i).part[0];
    } else {
      for (int j = 0; j < 4; ++j)
        if (begin + j >= a && begin + j < b)
          x[i] |= static_cast<std::uint32_t>(load<1>(at + 4 * i + j).part[0]) << (8 * j);
    }
  }
  return shifted<S>(x, shift);
}

/// A chunk with the bytes before n from `below` and the other bytes from `above`.
template <int S>
DUNNAGE_HD Word<S> merge(const Word<S>& below, const Word<S>& above, int n) {
  Word<S> chunk{};
  DUNNAGE_UNROLL
  for (int i = 0; i < S / 4; ++i) {
    const int k = n - 4 * i;
    const std::uint32_t mask = k >= 4 ? 0xffffffffu : k <= 0 ? 0u : (1u << (8 * k)) - 1;
    chunk.part[i] = (below.part[i] & mask) | (above.part[i] & ~mask);
  }
  return chunk;
}

template <int S>
DUNNAGE_HD std::uint8_t byte_of(const Word<S>& chunk, int i) {
  return static_cast<std::uint8_t>(chunk.part[i / 4] >> (8 * (i % 4)));
}

/// Stores bytes [a, b) of a chunk. `to` must be a multiple of the chunk's size.
template <int S>
DUNNAGE_HD void store_part(char* to, const Word<S>& chunk, int a, int b) {
  if (a == 0 && b == S) return store<S>(to, chunk);
  DUNNAGE_UNROLL
  for (int i = 0; i < S / 4; ++i) {
    if (a <= 4 * i && 4 * i + 4 <= b) {
      store<4>(to + 4 * i, Word<4>{{chunk.part[i]}});
    } else {
      DUNNAGE_UNROLL
      for (int j = 4 * i; j < 4 * i + 4; ++j)
        if (j >= a && j < b) store<1>(to + j, Word<1>{{byte_of(chunk, j)}});
    }
  }
}

/// A chunk, and where to store it: bytes [a, b) go to `to`, with the same positions.
template <int S>
struct Chunk {
  Word<S> bytes{};
  char* to = nullptr;
  int a = 0, b = 0;
};

/// Chunk c of the packed stream. A chunk has bytes of at most two blocks, because a block has at
/// least S bytes.
template <int S, bool Long, int D, bool T, class Index>
DUNNAGE_HD Chunk<S> packed_chunk(const Rows<Index>& r, Index c) {
  Chunk<S> chunk;
  const Index at = c * S;
  if (at >= r.lead + r.bytes) return chunk;
  chunk.to = r.packed + at - r.lead;
  chunk.a = at < r.lead ? static_cast<int>(r.lead - at) : 0;
  chunk.b = at + S > r.lead + r.bytes ? static_cast<int>(r.lead + r.bytes - at) : S;
  const Index byte = r.first + (at + static_cast<Index>(chunk.a) - r.lead);
  const Index row = r.by_block.quotient(byte), x = byte - row * r.block;
  const auto* from = r.nest.user + locate<D, T>(r.nest, row) + x - chunk.a;  // the address of byte 0 of the chunk
  const Index left = r.block - x;
  const int n = left >= static_cast<Index>(chunk.b - chunk.a) ? chunk.b : chunk.a + static_cast<int>(left);
  chunk.bytes = load_shifted<S, Long>(from, chunk.a, n, r.low, r.high);
  if (n < chunk.b) {
    const auto* next = r.nest.user + locate<D, T>(r.nest, static_cast<Index>(row + 1)) - n;
    chunk.bytes = merge<S>(chunk.bytes, load_shifted<S, false>(next, n, chunk.b, r.low, r.high), n);
  }
  return chunk;
}

/// Slot s of the user's buffer. Each row has `slots` slots for the chunks that it touches; a row
/// need not use all of them.
template <int S, bool Long, int D, bool T, class Index>
DUNNAGE_HD Chunk<S> user_chunk(const Rows<Index>& r, Index s) {
  Chunk<S> chunk;
  const Index k = r.by_slots.quotient(s), slot = s - k * r.slots;
  const Index row = r.first_block + k;
  // [from, to): the bytes of the row that are in the range.
  const Index start = row * r.block;
  if (start >= r.first + r.bytes) return chunk;
  const std::int64_t from = start >= r.first ? 0 : static_cast<std::int64_t>(r.first - start);
  const auto rest = static_cast<std::int64_t>(r.first + r.bytes - start);
  const auto to = rest < static_cast<std::int64_t>(r.block) ? rest : static_cast<std::int64_t>(r.block);
  auto* user = r.nest.user + locate<D, T>(r.nest, row);
  chunk.to = user - (reinterpret_cast<std::uintptr_t>(user) & (S - 1)) + static_cast<std::int64_t>(slot) * S;
  const std::int64_t at = chunk.to - user;  // position of the chunk in the row
  chunk.a = at < from ? static_cast<int>(from - at < S ? from - at : S) : 0;
  chunk.b = at + S > to ? static_cast<int>(to - at > 0 ? to - at : 0) : S;
  if (chunk.a >= chunk.b) return Chunk<S>{};
  chunk.bytes =
      load_shifted<S, Long>(r.packed + (static_cast<std::int64_t>(start) - static_cast<std::int64_t>(r.first)) + at,
                            chunk.a, chunk.b, r.low, r.high);
  return chunk;
}

/// Moves chunk i (pack) or slot i (unpack). Long: chunks rarely span two rows.
template <int S, bool Long, int D, bool T, class Index>
DUNNAGE_HD void pack_rows(const Rows<Index>& r, Index i) {
  const auto chunk = packed_chunk<S, Long, D, T>(r, i);
  if (chunk.a < chunk.b) store_part<S>(chunk.to, chunk.bytes, chunk.a, chunk.b);
}
template <int S, bool Long, int D, bool T, class Index>
DUNNAGE_HD void unpack_rows(const Rows<Index>& r, Index i) {
  const auto chunk = user_chunk<S, Long, D, T>(r, i);
  if (chunk.a < chunk.b) store_part<S>(chunk.to, chunk.bytes, chunk.a, chunk.b);
}

}  // namespace dunnage::pack::cuda
