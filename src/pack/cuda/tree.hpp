// The kernels for layouts that are not nests: structs, and lists of blocks of different lengths.
// Each thread moves one chunk of the packed stream. It finds the chunk's bytes by walking down the
// tree.
#pragma once

#include "pack/cuda/rows.hpp"

namespace dunnage::pack::cuda {

/// One node of a layout (type/layout.hpp). The children of a node follow each other. Sizes and
/// offsets are in bytes.
struct TreeNode {
  enum Kind : std::int32_t { block, loop, list, spread, concat };
  std::int32_t kind = block;
  std::int32_t child = 0;  // the first child, as an index relative to this node
  std::int64_t size = 0;   // packed
  std::int64_t piece = 0;  // packed size of each child or block; 0 if the sizes differ
  Divisor<std::uint64_t> by_piece;
  std::int64_t stride = 0;                // loop
  std::int64_t entries = 0;               // list, concat
  const std::int64_t* offsets = nullptr;  // list, spread, concat
  const std::int64_t* prefix = nullptr;   // if the sizes differ: packed offset of each, then the total
};

/// A range of the packed stream in bytes. Byte `first` is at the address `packed`.
struct Tree {
  const TreeNode* root = nullptr;
  char* user = nullptr;
  char* packed = nullptr;
  std::int64_t first = 0, bytes = 0;
  std::int64_t lead = 0;  // bytes from the last chunk boundary to `packed`
  // Bytes of the user's buffer outside [low, high) are never read, not even as a part of a word.
  const char *low = nullptr, *high = nullptr;
};

/// The offset of a packed byte in the user's buffer, and the length of the contiguous run that
/// starts there.
struct Run {
  std::int64_t offset, length;
};
DUNNAGE_HD Run find(const TreeNode* node, std::int64_t byte) {
  std::int64_t offset = 0;
  for (;;) {
    if (node->kind == TreeNode::block) return {offset + byte, node->size - byte};
    std::int64_t i;
    if (node->piece) {
      i = static_cast<std::int64_t>(node->by_piece.quotient(static_cast<std::uint64_t>(byte)));
      byte -= i * node->piece;
    } else {
      std::int64_t end = node->entries;  // the piece that contains the byte is in [i, end)
      i = 0;
      while (end - i > 1) {
        const auto middle = (i + end) / 2;
        if (node->prefix[middle] <= byte)
          i = middle;
        else
          end = middle;
      }
      byte -= node->prefix[i];
    }
    offset += node->offsets ? node->offsets[i] : i * node->stride;
    if (node->kind == TreeNode::list)
      return {offset + byte, (node->piece ? node->piece : node->prefix[i + 1] - node->prefix[i]) - byte};
    node += node->child + (node->kind == TreeNode::concat ? i : 0);
  }
}

inline constexpr int tree_chunk = 16;  // bytes

/// The part of chunk c that is within the range: bytes [begin, end) of the chunk.
struct ChunkRange {
  std::int64_t at;  // position of the chunk's first byte, counted from `packed`
  int begin = 0, end = tree_chunk;
};
DUNNAGE_HD ChunkRange chunk_range(const Tree& t, std::int64_t c) {
  ChunkRange r{c * tree_chunk - t.lead};
  if (r.at < 0) r.begin = static_cast<int>(-r.at);
  if (r.at + tree_chunk > t.bytes) r.end = r.at < t.bytes ? static_cast<int>(t.bytes - r.at) : r.begin;
  return r;
}

DUNNAGE_HD void pack_tree(const Tree& t, std::int64_t c) {
  const auto range = chunk_range(t, c);
  if (range.begin >= range.end) return;
  Word<tree_chunk> chunk{};
  for (int k = range.begin; k < range.end;) {
    const auto run = find(t.root, t.first + range.at + k);
    const int end = run.length < range.end - k ? k + static_cast<int>(run.length) : range.end;
    chunk =
        merge<tree_chunk>(chunk, load_shifted<tree_chunk, false>(t.user + run.offset - k, k, end, t.low, t.high), k);
    k = end;
  }
  store_part<tree_chunk>(t.packed + range.at, chunk, range.begin, range.end);
}

DUNNAGE_HD void unpack_tree(const Tree& t, std::int64_t c) {
  const auto range = chunk_range(t, c);
  if (range.begin >= range.end) return;
  const auto* packed = t.packed + range.at;
  const auto chunk = load_shifted<tree_chunk, false>(packed, range.begin, range.end, t.packed, t.packed + t.bytes);
  for (int k = range.begin; k < range.end;) {
    const auto run = find(t.root, t.first + range.at + k);
    const int end = run.length < range.end - k ? k + static_cast<int>(run.length) : range.end;
    auto* user = t.user + run.offset - k;
    if ((reinterpret_cast<std::uintptr_t>(user) & 3) == 0) {
      if ((reinterpret_cast<std::uintptr_t>(user) & (tree_chunk - 1)) != 0 && k == 0 && end == tree_chunk) {
        DUNNAGE_UNROLL
        for (int i = 0; i < tree_chunk / 4; ++i) store<4>(user + 4 * i, Word<4>{{chunk.part[i]}});
      } else {
        store_part<tree_chunk>(user, chunk, k, end);
      }
    } else {
      DUNNAGE_UNROLL
      for (int j = 0; j < tree_chunk; ++j)
        if (j >= k && j < end) store<1>(user + j, Word<1>{{byte_of(chunk, j)}});
    }
    k = end;
  }
}

}  // namespace dunnage::pack::cuda
