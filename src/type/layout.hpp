// The canonical layout of a datatype: where its bytes lie, in MPI's order, however they were described.
//
// A Layout is a tree of immutable nodes, shared freely between threads:
//   block    `size` contiguous bytes
//   loop     `count` copies of `child`, `stride` bytes apart (a nest is a chain of loops over a block)
//   list     contiguous blocks at irregular offsets, with a prefix sum of their lengths
//   spread   copies of `child` at irregular offsets
//   concat   different children one after the other (a struct)
// Equal memory in equal order gives equal trees wherever the description is regular: loops are merged with what
// they continue, adjacent blocks are joined, and lists that are in truth regular become nests, in O(n).
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
  // The bytes touched, relative to the node's position: [low, high).
  std::int64_t low = 0, high = 0;

  std::int64_t count = 0, stride = 0;  // loop
  NodePtr child;                       // loop, spread
  std::vector<NodePtr> children;       // concat
  Ints offsets;                        // list, spread, concat: relative to the node; the first is 0
  std::int64_t length = 0;             // list: the length of every block, 0 where they differ
  Ints prefix;                         // list with different lengths, concat: packed offset of each piece, and the total

  bool operator==(const Node& other) const;
};

/// A node at an offset; no node means no bytes.
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

  /// Whether the same bytes are meant, by the same canonical form.
  bool operator==(const Layout& other) const {
    return size == other.size && lb == other.lb && extent == other.extent && data.offset == other.data.offset &&
           (data.node == other.data.node || (data.node && other.data.node && *data.node == *other.data.node));
  }
  /// Whether any count of elements is one contiguous run that starts at the buffer's address.
  bool contiguous() const {
    return !data.node || (data.node->kind == Node::Kind::block && data.offset == 0 && extent == size);
  }
};

/// The canonical layout of a type. Throws SpecError where sizes do not fit 63 bits.
Layout layout_of(const Spec& spec);
/// One element that is these bytes.
Layout layout_of(const Placed& data);

// The normalising constructors; layout_of is made of these.
Placed block(std::int64_t offset, std::int64_t size);
Placed loop(std::int64_t count, std::int64_t stride, const Placed& child);
/// Blocks of `lengths` bytes (one entry: all the same) at `offsets`.
Placed list(Ints offsets, Ints lengths);
Placed spread(Ints offsets, const Placed& child);
Placed concat(const std::vector<Placed>& parts);

/// One line of text, for people and for golden tests: `+8 12x(64) 4x(16) [8]` is a nest of two loops over 8 bytes.
std::string to_string(const Placed& data);

}  // namespace dunnage::type
