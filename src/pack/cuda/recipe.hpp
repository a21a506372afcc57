// A layout in the form that kernels take: parts that follow each other in the packed stream. A part
// is a nest or a tree.
//
// A Recipe belongs to one layout and one count, contains no addresses, and is immutable.
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
  // Divide by `count`. They are computed here, because computing them takes long. `by` is valid
  // only for counts below 2^31.
  Divisor<std::uint32_t> by{static_cast<std::uint32_t>(count)};
  Divisor<std::uint64_t> by_wide{static_cast<std::uint64_t>(count)};
};

/// A nest of loops over blocks. The displacements of one loop may be in a table.
struct Geometry {
  std::int64_t block = 0;       // bytes
  std::vector<Level> levels;    // innermost first; each has more than one step; at most max_loops - 1
  int indexed = -1;             // the level with a table; -1 if there is none
  std::size_t table = 0;        // index of its first entry in Recipe::table()
  std::int64_t table_unit = 1;  // bytes; a power of two
  bool cut = false;             // the table's entries are pieces of longer blocks
  std::int64_t blocks() const {
    std::int64_t n = 1;
    for (const auto& level : levels) n *= level.count;
    return n;
  }
};

/// A range of the packed stream that one kernel handles.
struct Part {
  std::int64_t begin = 0, size = 0;  // bytes of the packed stream
  std::int64_t offset = 0;           // of the part's first byte in the user's buffer
  std::int64_t low = 0, high = 0;    // [low, high): the bytes of the buffer that are touched
  bool nest = true;
  Geometry geometry;     // if the part is a nest
  std::size_t root = 0;  // if the part is a tree: the index of its root node
};

class Recipe {
 public:
  /// Throws type::SpecError if the size of `count` elements does not fit 63 bits.
  Recipe(const type::Layout& layout, std::int64_t count);

  std::int64_t size() const { return size_; }
  const type::Placed& data() const { return data_; }
  /// Offsets in the user's buffer: first() is that of the first packed byte; all bytes are in
  /// [low(), high()).
  std::int64_t first() const { return data_.offset; }
  std::int64_t low() const { return data_.offset + (data_.node ? data_.node->low : 0); }
  std::int64_t high() const { return data_.offset + (data_.node ? data_.node->high : 0); }
  const std::vector<Part>& parts() const { return parts_; }
  /// The offset of bytes [begin, end) of the packed stream in the user's buffer. Empty if the bytes
  /// are not contiguous there.
  std::optional<std::int64_t> contiguous(std::int64_t begin, std::int64_t end) const;

  /// The size in bytes of the tables and trees, which must be in memory that the device can read. 0
  /// if there are none.
  std::size_t constants_size() const;
  /// The tables and trees as bytes for the device address `address`, which must be a multiple of
  /// 16.
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
  std::vector<TreeNode> nodes_;  // their pointers are indices into numbers_ plus 1; 0 is null
  std::vector<std::int64_t> numbers_;
};

}  // namespace dunnage::pack::cuda
