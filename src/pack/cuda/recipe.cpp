#include "pack/cuda/recipe.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>

namespace dunnage::pack::cuda {
namespace {

using type::Node;
using type::NodePtr;
using Kind = Node::Kind;

// A list of blocks of different lengths is cut into pieces of their common length. This is the most
// pieces per block.
constexpr std::int64_t most_pieces = 8;
constexpr std::size_t most_runs = 16;  // the most runs of a list that become parts of their own

}  // namespace

struct Recipe::Compiler {
  Recipe& recipe;
  std::map<const Node*, std::pair<std::size_t, std::int64_t>> tables;  // index of the first entry, and the unit
  std::map<const Node*, std::size_t> children;                         // index of a node's first child
  std::map<const type::Ints*, std::size_t> numbers;
  std::vector<NodePtr> kept;  // the maps' keys must stay alive

  /// Adds a table with the displacements of a list's pieces or of a spread's children. False if the
  /// displacements do not fit 32 bits.
  bool enter_table(const Node& node, std::int64_t piece, Geometry& geometry) {
    const auto [at, added] = tables.try_emplace(&node);
    if (added) {
      type::Ints offsets;
      if (node.kind == Kind::list && node.length == 0) {
        for (std::size_t i = 0; i < node.offsets.size(); ++i)
          for (std::int64_t k = 0; k < node.prefix[i + 1] - node.prefix[i]; k += piece)
            offsets.push_back(node.offsets[i] + k);
      } else {
        offsets = node.offsets;
      }
      std::uint64_t bits = std::uint64_t{1} << 12;
      for (const auto offset : offsets) bits |= static_cast<std::uint64_t>(offset);
      const auto unit = std::int64_t{1} << std::countr_zero(bits);
      const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
      if (*least / unit < std::numeric_limits<std::int32_t>::min() ||
          *most / unit > std::numeric_limits<std::int32_t>::max()) {
        tables.erase(at);
        return false;
      }
      at->second = {recipe.table_.size(), unit};
      for (const auto offset : offsets) recipe.table_.push_back(static_cast<std::int32_t>(offset / unit));
    }
    std::tie(geometry.table, geometry.table_unit) = at->second;
    return true;
  }

  /// Whether a node is a nest. If so, fills in `geometry`.
  bool geometry_of(const Node& node, Geometry& geometry) {
    bool indexed = false;
    const Node* at = &node;
    std::vector<Level> levels;  // outermost first
    int table_level = -1;
    for (;; at = at->child.get()) {
      if (levels.size() == max_loops) return false;
      if (at->kind == Kind::block) {
        geometry.block = at->size;
        break;
      }
      if (at->kind == Kind::concat) return false;
      if (at->kind == Kind::loop) {
        levels.push_back({at->count, at->stride});
        continue;
      }
      const auto piece = at->kind == Kind::list ? type::common_length(*at) : at->child->size;
      if (indexed || at->size / piece > most_pieces * static_cast<std::int64_t>(at->offsets.size()) ||
          !enter_table(*at, piece, geometry))
        return false;
      indexed = true;
      geometry.cut = at->kind == Kind::list && at->length == 0;
      table_level = static_cast<int>(levels.size());
      levels.push_back({at->size / piece, 0});
      if (at->kind == Kind::list) {
        geometry.block = piece;
        break;
      }
    }
    if (levels.size() >= max_loops) return false;  // the words of a block are a loop too
    geometry.levels.assign(levels.rbegin(), levels.rend());
    if (indexed) geometry.indexed = static_cast<int>(levels.size()) - 1 - table_level;
    return true;
  }

  std::size_t enter(const type::Ints& values) {
    if (values.empty()) return 0;
    const auto [at, added] = numbers.try_emplace(&values, recipe.numbers_.size() + 1);
    if (added) recipe.numbers_.insert(recipe.numbers_.end(), values.begin(), values.end());
    return at->second;
  }

  void fill(std::size_t index, const Node& node) {
    TreeNode n;
    n.size = node.size;
    const auto reference = [](std::size_t i) { return reinterpret_cast<const std::int64_t*>(i); };
    switch (node.kind) {
      case Kind::block: n.kind = TreeNode::block; break;
      case Kind::loop:
        n.kind = TreeNode::loop;
        n.piece = node.child->size;
        n.stride = node.stride;
        break;
      case Kind::list:
        n.kind = TreeNode::list;
        n.piece = node.length;
        break;
      case Kind::spread:
        n.kind = TreeNode::spread;
        n.piece = node.child->size;
        break;
      case Kind::concat: n.kind = TreeNode::concat; break;
    }
    n.entries = static_cast<std::int64_t>(node.offsets.size());
    n.offsets = reference(enter(node.offsets));
    if (!n.piece) n.prefix = reference(enter(node.prefix));
    if (n.piece) n.by_piece = Divisor<std::uint64_t>(static_cast<std::uint64_t>(n.piece));
    if (node.kind == Kind::concat || node.child) {
      auto known = children.find(&node);
      if (known == children.end()) {
        const auto count = node.kind == Kind::concat ? node.children.size() : 1;
        const auto first = recipe.nodes_.size();
        recipe.nodes_.resize(first + count);
        known = children.emplace(&node, first).first;
        for (std::size_t i = 0; i < count; ++i)
          fill(first + i, node.kind == Kind::concat ? *node.children[i] : *node.child);
      }
      n.child = static_cast<std::int32_t>(known->second) - static_cast<std::int32_t>(index);
    }
    recipe.nodes_[index] = n;
  }

  /// The number of nests that a node is divided into. A result above `most` means too many, and
  /// need not be exact.
  static std::int64_t pieces_of(const Node& node, std::int64_t most) {
    std::int64_t n = 0;
    if (node.kind == Kind::concat) {
      for (const auto& child : node.children)
        if ((n += pieces_of(*child, most - n)) > most) return n;
      return n;
    }
    if (node.kind == Kind::loop && holds_concat(node)) {
      n = pieces_of(*node.child, most);
      return n > most / node.count ? most + 1 : n * node.count;
    }
    if (node.kind == Kind::list && !node.length)
      return static_cast<std::int64_t>(std::min(most_runs, node.offsets.size()));
    return 1;
  }
  static bool holds_concat(const Node& node) {
    return node.kind == Kind::concat || (node.child && holds_concat(*node.child));
  }

  /// Splits a layout with absolute addresses (MPI_BOTTOM). Its pieces may be in different memories,
  /// so each piece becomes a part of its own, even if the pieces are regular.
  void split_absolute(const Node& node, std::int64_t offset) {
    constexpr std::int64_t addresses_begin = std::int64_t{1} << 32;
    const auto entries = node.kind == Kind::loop ? node.count : static_cast<std::int64_t>(node.offsets.size());
    if (node.kind == Kind::block || node.kind == Kind::concat || std::abs(offset) < addresses_begin ||
        entries > max_fused)
      return split(node, offset, 0);
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < entries; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const auto length = node.length || node.child ? node.length : node.prefix[k + 1] - node.prefix[k];
      const auto child = node.child ? type::Placed{0, node.child} : type::block(0, length);
      kept.push_back(child.node);
      split(*child.node, offset + (node.kind == Kind::loop ? i * node.stride : node.offsets[k]), begin);
      begin += child.node->size;
    }
  }

  /// Makes a part for each run of a list if there are few runs. A run is a sequence of blocks with
  /// one length and equal distances. Several boxes side by side give such lists.
  bool split_runs(const Node& node, std::int64_t offset, std::int64_t begin) {
    if (node.kind != Kind::list || node.length) return false;
    const auto entries = node.offsets.size();
    const auto length = [&](std::size_t i) { return node.prefix[i + 1] - node.prefix[i]; };
    const auto stride = [&](std::size_t i) { return node.offsets[i + 1] - node.offsets[i]; };
    std::vector<Part> runs;
    for (std::size_t i = 0, end; i < entries; i = end) {
      if (runs.size() == most_runs) return false;
      end = i + 1;
      while (end < entries && length(end) == length(i) && stride(end - 1) == stride(i)) ++end;
      const auto first = offset + node.offsets[i], last = offset + node.offsets[end - 1];
      Part part{begin + node.prefix[i],
                node.prefix[end] - node.prefix[i],
                first,
                std::min(first, last),
                std::max(first, last) + length(i),
                true,
                {},
                0};
      part.geometry.block = length(i);
      if (end > i + 1) part.geometry.levels = {{static_cast<std::int64_t>(end - i), stride(i)}};
      runs.push_back(std::move(part));
    }
    recipe.parts_.insert(recipe.parts_.end(), runs.begin(), runs.end());
    return true;
  }

  void split(const Node& node, std::int64_t offset, std::int64_t begin) {
    if (node.kind == Kind::concat && pieces_of(node, max_fused) <= max_fused) {
      for (std::size_t i = 0; i < node.children.size(); ++i)
        split(*node.children[i], offset + node.offsets[i], begin + node.prefix[i]);
      return;
    }
    if (node.kind == Kind::loop && holds_concat(node) && pieces_of(node, max_fused) <= max_fused) {
      for (std::int64_t i = 0; i < node.count; ++i)
        split(*node.child, offset + i * node.stride, begin + i * node.child->size);
      return;
    }
    Part part{begin, node.size, offset, offset + node.low, offset + node.high, true, {}, 0};
    if (!geometry_of(node, part.geometry)) {
      if (split_runs(node, offset, begin)) return;
      part.nest = false;
      part.root = recipe.nodes_.size();
      recipe.nodes_.emplace_back();
      fill(part.root, node);
    }
    recipe.parts_.push_back(std::move(part));
  }
};

Recipe::Recipe(const type::Layout& layout, std::int64_t count)
    : data_(type::loop(count, layout.extent, layout.data)), size_(data_.node ? data_.node->size : 0) {
  if (data_.node) Compiler{*this, {}, {}, {}, {}}.split_absolute(*data_.node, data_.offset);
}

std::size_t Recipe::nodes_begin() const { return (table_.size() * sizeof(std::int32_t) + 15) / 16 * 16; }

std::optional<std::int64_t> Recipe::contiguous(std::int64_t begin, std::int64_t end) const {
  for (const auto& part : parts_)
    if (part.begin <= begin && end <= part.begin + part.size)
      return part.nest && part.geometry.levels.empty() ? std::optional(part.offset + (begin - part.begin))
                                                       : std::nullopt;
  return std::nullopt;
}

std::size_t Recipe::constants_size() const {
  return table_.empty() && nodes_.empty() ? 0 : numbers_begin() + numbers_.size() * sizeof(std::int64_t);
}

std::vector<char> Recipe::constants_at(std::uintptr_t address) const {
  std::vector<char> bytes(constants_size());
  if (!table_.empty()) std::memcpy(bytes.data(), table_.data(), table_.size() * sizeof(std::int32_t));
  const auto* numbers = reinterpret_cast<const std::int64_t*>(address + numbers_begin());
  const auto resolve = [&](const std::int64_t*& reference) {
    const auto index = reinterpret_cast<std::size_t>(reference);
    reference = index ? numbers + (index - 1) : nullptr;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto node = nodes_[i];
    resolve(node.offsets);
    resolve(node.prefix);
    std::memcpy(bytes.data() + node_at(i), &node, sizeof node);
  }
  if (!numbers_.empty())
    std::memcpy(bytes.data() + numbers_begin(), numbers_.data(), numbers_.size() * sizeof(std::int64_t));
  return bytes;
}

}  // namespace dunnage::pack::cuda
