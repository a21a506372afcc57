// A layout as the kernels take it: nests and trees, one after the other in the packed stream.
//
// A Recipe belongs to one (layout, count), knows no addresses and is immutable.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pack/cuda/fused.hpp"
#include "pack/cuda/tree.hpp"
#include "type/layout.hpp"

namespace dunnage::pack::cuda {

struct Level {
  std::int64_t count, stride;  // stride in bytes of the user's buffer
  // For dividing by count, made here since that takes long. The first is for counts below 2^31 only.
  Divisor<std::uint32_t> by{static_cast<std::uint32_t>(count)};
  Divisor<std::uint64_t> by_wide{static_cast<std::uint64_t>(count)};
};

/// A nest of loops over blocks. The displacements of one loop may stand in a table.
struct Geometry {
  std::int64_t block = 0;        // bytes
  std::vector<Level> levels;     // innermost first, of more than one step each; no more than max_loops - 1
  int indexed = -1;              // the level with a table
  std::size_t table = 0;         // index of its first entry in Recipe::table()
  std::int64_t table_unit = 1;   // bytes; a power of two
  bool cut = false;              // its entries are pieces of longer blocks
  std::int64_t blocks() const {
    std::int64_t n = 1;
    for (const auto& level : levels) n *= level.count;
    return n;
  }
};

/// A piece of the packed stream that one kernel handles.
struct Part {
  std::int64_t begin = 0, size = 0;  // bytes of the stream
  std::int64_t offset = 0;           // of its first byte in the user's buffer
  std::int64_t low = 0, high = 0;    // the bytes touched there: [low, high)
  bool nest = true;
  Geometry geometry;     // of a nest
  std::size_t root = 0;  // of a tree: its node
};

class Recipe {
 public:
  /// Throws type::SpecError where `count` elements do not fit 63 bits.
  Recipe(const type::Layout& layout, std::int64_t count);

  std::int64_t size() const { return size_; }
  const type::Placed& data() const { return data_; }
  /// The bytes of the user's buffer: the first of the stream, and all of them, [low, high).
  std::int64_t first() const { return data_.offset; }
  std::int64_t low() const { return data_.offset + (data_.node ? data_.node->low : 0); }
  std::int64_t high() const { return data_.offset + (data_.node ? data_.node->high : 0); }
  const std::vector<Part>& parts() const { return parts_; }
  /// Where bytes [begin, end) of the stream are in the user's buffer, if they are in one piece.
  std::optional<std::int64_t> contiguous(std::int64_t begin, std::int64_t end) const;

  /// Tables and trees, which must stand in memory that the device can read: bytes, 0 where there are none.
  std::size_t constants_size() const;
  /// These as they must be to stand at `address`, which is a multiple of 16.
  std::vector<char> constants_at(std::uintptr_t address) const;
  std::size_t node_at(std::size_t root) const { return nodes_begin() + root * sizeof(TreeNode); }
  std::size_t table_at(std::size_t entry) const { return entry * sizeof(std::int32_t); }

 private:
  struct Compiler;
  std::size_t nodes_begin() const;
  std::size_t numbers_begin() const { return nodes_begin() + nodes_.size() * sizeof(TreeNode); }

  type::Placed data_;
  std::int64_t size_ = 0;
  std::vector<Part> parts_;
  std::vector<std::int32_t> table_;
  std::vector<TreeNode> nodes_;         // whose pointers are indices into numbers_, from 1
  std::vector<std::int64_t> numbers_;
};

}  // namespace dunnage::pack::cuda
