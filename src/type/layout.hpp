// The canonical layout of a datatype: where its bytes lie, in MPI's order, however they were
// described.
//
// A Layout is a tree of immutable nodes that threads may share:
//   block    `size` contiguous bytes
//   loop     `count` copies of `child`, `stride` bytes apart (a nest is a chain of loops over a block)
//   list     contiguous blocks at irregular offsets, with a prefix sum of their lengths
//   spread   copies of `child` at irregular offsets
//   concat   different children one after the other (a struct)
// Regular descriptions of the same memory in the same order give the same tree. A loop that
// continues another loop is merged with it. Adjacent blocks are joined. A list whose offsets are
// regular becomes a nest. All this takes time linear in the length of the description.
#pragma once

#include "type/spec.hpp"

namespace dunnage::type {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  enum class Kind { block, loop, list, spread, concat };

  Kind kind = Kind::block;
  std::int64_t size = 0;    // packed bytes
  std::int64_t blocks = 1;  // contiguous blocks
  // The touched bytes are [low, high), relative to the node's position.
  std::int64_t low = 0, high = 0;

  std::int64_t count = 0, stride = 0;  // loop
  NodePtr child;                       // loop, spread
  std::vector<NodePtr> children;       // concat
  Ints offsets;                        // list, spread, concat: offsets relative to the node; the first is 0
  std::int64_t length = 0;             // list: the length of every block, or 0 if lengths differ
  Ints prefix;  // list with different lengths, concat: packed offset of each piece, and the total

  bool operator==(const Node& other) const;
};

/// The greatest length in bytes that divides every block of a list.
std::int64_t common_length(const Node& list);

/// A node at an offset. A null node means no bytes.
struct Placed {
  std::int64_t offset = 0;
  NodePtr node;
};

struct Layout {
  Placed data;
  std::int64_t size = 0;    // packed bytes of one element
  std::int64_t lb = 0;      // bytes
  std::int64_t extent = 0;  // bytes
  std::int64_t true_lb = 0, true_extent = 0;

  /// Returns whether both layouts have the same canonical form, and so the same bytes in the same
  /// order.
  bool operator==(const Layout& other) const {
    return size == other.size && lb == other.lb && extent == other.extent && data.offset == other.data.offset &&
           (data.node == other.data.node || (data.node && other.data.node && *data.node == *other.data.node));
  }
  /// Returns whether any number of elements is one contiguous run that starts at the buffer's
  /// address.
  bool contiguous() const {
    return !data.node || (data.node->kind == Node::Kind::block && data.offset == 0 && extent == size);
  }
};

/// Returns the canonical layout of a type. Throws SpecError if a size does not fit in 63 bits.
Layout layout_of(const Spec& spec);
/// Returns the layout of one element that consists of `data`.
Layout layout_of(const Placed& data);

// Constructors that return canonical nodes. layout_of() is built from them.
Placed block(std::int64_t offset, std::int64_t size);
Placed loop(std::int64_t count, std::int64_t stride, const Placed& child);
/// Blocks at `offsets`. `lengths` has the bytes of each block, or one entry for all blocks.
Placed list(Ints offsets, Ints lengths);
Placed spread(Ints offsets, const Placed& child);
Placed concat(const std::vector<Placed>& parts);

/// Returns one line of text, for people and for golden tests. For example, `+8 12x(64) 4x(16) [8]`
/// is a nest of two loops over 8 bytes.
std::string to_string(const Placed& data);

}  // namespace dunnage::type
