#include "pack/cpu/program.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/cache.hpp"
#include "pack/cpu/moves.hpp"
#include "pack/cpu/nest.hpp"

namespace dunnage::pack {
namespace {

using Kind = type::Node::Kind;

// Streamed packing gathers this much into a buffer that stays in the first-level cache and writes it out from
// there in whole lines, whatever the shape of the blocks.
constexpr std::int64_t scratch_size = 8192;

}  // namespace

Program::Program(const type::Layout& layout, std::int64_t count)
    : data_(type::loop(count, layout.extent, layout.data)), size_(data_.node ? data_.node->size : 0) {
  if (!data_.node) return;
  root_ = compile(*data_.node);
  // Both buffers together against the second-level cache: the lines touched are at most one or two a block.
  const auto touched = std::min(span(), size_ + 64 * blocks());
  if (size_ + touched > base::second_level_cache()) stores_ = Stores::streamed;
}

std::size_t Program::compile(const type::Node& node) {
  Op op{};
  op.size = node.size;
  op.node = &node;
  switch (node.kind) {
    case Kind::block:
    case Kind::loop: {
      // The longest chain of loops that ends in a block becomes a nest.
      std::vector<const type::Node*> chain;
      const type::Node* at = &node;
      for (; at->kind == Kind::loop; at = at->child.get()) chain.push_back(at);
      if (at->kind == Kind::block && chain.size() <= max_dims) {
        op.kind = Op::Kind::nest;
        op.nest.block = at->size;
        for (const auto* loop : chain)
          op.nest.dim[op.nest.dims++] = {loop->count, loop->stride, loop->child->size};
        break;
      }
      op.count = node.count;
      op.stride = node.stride;
      if (node.child->kind == Kind::list) {
        op.kind = Op::Kind::blocks;
        op.node = node.child.get();
      } else {
        op.kind = Op::Kind::repeat;
        op.children = {compile(*node.child)};
      }
      break;
    }
    case Kind::list:
      op.kind = Op::Kind::blocks;
      break;
    case Kind::spread:
      op.kind = Op::Kind::spread;
      op.children = {compile(*node.child)};
      break;
    case Kind::concat:
      op.kind = Op::Kind::concat;
      for (const auto& child : node.children) op.children.push_back(compile(*child));
      break;
  }
  ops_.push_back(std::move(op));
  return ops_.size() - 1;
}

std::string Program::kernel() const {
  if (!data_.node) return "none";
  const Op* op = &ops_[root_];
  while (op->kind == Op::Kind::repeat || op->kind == Op::Kind::spread) op = &ops_[op->children[0]];
  if (op->kind == Op::Kind::concat) return "concat";
  if (op->kind == Op::Kind::blocks)
    return op->node->length ? fmt::format("blocks[{}]", op->node->length) : std::string("blocks");
  switch (choose_walk(op->nest.dim, op->nest.dims, op->nest.block).kind) {
    case Walk::Kind::copy: return "copy";
    case Walk::Kind::rows: return fmt::format("rows[{}]", op->nest.block);
    case Walk::Kind::tiled: return fmt::format("tiles[{}]", op->nest.block);
    case Walk::Kind::transposed: return fmt::format("transpose[{}]", op->nest.block);
  }
  return {};
}

template <Direction D>
void Program::run_nest(const Nest& nest, int level, char* user, char* packed, std::int64_t begin, std::int64_t end,
                       bool streamed) const {
  if (begin == end) return;
  if (level == nest.dims) {
    Dim none{};
    return run_whole_nest<D>(&none, 0, end - begin, user + begin, packed, streamed);
  }
  const auto& dim = nest.dim[level];
  auto first = begin / dim.packed;
  const auto last = end / dim.packed, head = begin % dim.packed, tail = end % dim.packed;
  if (first == last) return run_nest<D>(nest, level + 1, user + first * dim.user, packed, head, tail, streamed);
  if (head) {
    run_nest<D>(nest, level + 1, user + first * dim.user, packed, head, dim.packed, streamed);
    packed += dim.packed - head;
    ++first;
  }
  if (first < last) {
    Dim dims[max_dims];
    const int n = nest.dims - level;
    std::copy_n(nest.dim + level, n, dims);
    dims[0].count = last - first;
    run_whole_nest<D>(dims, n, nest.block, user + first * dim.user, packed, streamed);
    packed += (last - first) * dim.packed;
  }
  if (tail) run_nest<D>(nest, level + 1, user + last * dim.user, packed, 0, tail, streamed);
}

template <Direction D>
void Program::run_blocks(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end) const {
  const auto& list = *op.node;
  const auto n = static_cast<std::int64_t>(list.offsets.size());
  const auto piece = [&](std::int64_t repeat, std::int64_t from, std::int64_t to) {  // [from, to) of one list
    if (from == to) return;
    char* base = user + repeat * op.stride;
    const auto start_of = [&](std::int64_t i) { return list.length ? i * list.length : list.prefix[i]; };
    const auto index_of = [&](std::int64_t byte) {
      if (list.length) return byte / list.length;
      return std::upper_bound(list.prefix.begin(), list.prefix.end(), byte) - list.prefix.begin() - 1;
    };
    const auto part = [&](std::int64_t i, std::int64_t a, std::int64_t b) {  // [a, b) of block i
      char* u = base + list.offsets[i] + a;
      D == Direction::pack ? copy_some(packed, u, b - a) : copy_some(u, packed, b - a);
      packed += b - a;
    };
    auto i = index_of(from);
    const auto last = index_of(to);
    if (i == last) return part(i, from - start_of(i), to - start_of(i));
    if (from > start_of(i)) {
      part(i, from - start_of(i), start_of(i + 1) - start_of(i));
      ++i;
    }
    if (i < last) {
      const Blocks whole{base, packed, 1, 0, list.offsets.data() + i, last - i, list.length,
                         list.length ? nullptr : list.prefix.data() + i};
      D == Direction::pack ? kernels().pack_blocks(whole) : kernels().unpack_blocks(whole);
      packed += start_of(last) - start_of(i);
    }
    if (to > start_of(last)) part(last, 0, to - start_of(last));
  };
  auto first = begin / list.size;
  const auto last = end / list.size, head = begin % list.size, tail = end % list.size;
  if (first == last) return piece(first, head, tail);
  if (head) piece(first++, head, list.size);
  if (first < last) {
    const Blocks whole{user + first * op.stride, packed, last - first, op.stride, list.offsets.data(), n, list.length,
                       list.length ? nullptr : list.prefix.data()};
    D == Direction::pack ? kernels().pack_blocks(whole) : kernels().unpack_blocks(whole);
    packed += (last - first) * list.size;
  }
  piece(last, 0, tail);
}

template <Direction D>
void Program::run(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, bool streamed) const {
  if (begin == end) return;
  switch (op.kind) {
    case Op::Kind::nest:
      return run_nest<D>(op.nest, 0, user, packed, begin, end, streamed);
    case Op::Kind::blocks:
      return run_blocks<D>(op, user, packed, begin, end);
    case Op::Kind::repeat:
    case Op::Kind::spread: {
      const auto& child = ops_[op.children[0]];
      for (auto i = begin / child.size; begin < end; ++i) {
        const auto a = begin - i * child.size, b = std::min(end - i * child.size, child.size);
        const auto at = op.kind == Op::Kind::repeat ? i * op.stride : op.node->offsets[i];
        run<D>(child, user + at, packed, a, b, streamed);
        packed += b - a;
        begin += b - a;
      }
      return;
    }
    case Op::Kind::concat: {
      const auto& prefix = op.node->prefix;
      auto i = std::upper_bound(prefix.begin(), prefix.end(), begin) - prefix.begin() - 1;
      for (; begin < end; ++i) {
        const auto a = begin - prefix[i], b = std::min(end, prefix[i + 1]) - prefix[i];
        run<D>(ops_[op.children[i]], user + op.node->offsets[i], packed, a, b, streamed);
        packed += b - a;
        begin += b - a;
      }
      return;
    }
  }
}

void Program::pack(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores) const {
  if (begin == end) return;
  const auto& op = ops_[root_];
  auto* from = static_cast<char*>(const_cast<void*>(user)) + data_.offset;
  auto* to = static_cast<char*>(packed);
  if (stores == Stores::cached) return run<Direction::pack>(op, from, to, begin, end, false);

  const bool whole = op.kind == Op::Kind::nest && begin == 0 && end == size_;
  const auto walk = whole ? choose_walk(op.nest.dim, op.nest.dims, op.nest.block).kind : Walk::Kind::rows;
  if (walk == Walk::Kind::transposed || walk == Walk::Kind::tiled) {
    // Gathering in the packed order would undo the interchange; a transpose writes whole lines by itself.
    run<Direction::pack>(op, from, to, begin, end, true);
  } else if (op.kind == Op::Kind::nest && op.nest.block >= 2 * scratch_size) {
    const auto& k = kernels();
    for (auto at = begin; at < end;) {  // long blocks need no gathering
      const auto piece = std::min(end - at, op.nest.block - at % op.nest.block);
      auto rest = at;
      char* u = from;
      for (int i = 0; i < op.nest.dims; ++i) {
        u += rest / op.nest.dim[i].packed * op.nest.dim[i].user;
        rest %= op.nest.dim[i].packed;
      }
      k.stream(to + (at - begin), u + rest, piece);
      at += piece;
    }
  } else {
    alignas(64) char scratch[scratch_size];
    for (auto at = begin; at < end;) {
      // Pieces end on the lines of the packed buffer.
      const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64);
      const auto piece = std::min(end - at, scratch_size - over);
      run<Direction::pack>(op, from, scratch + over, at, at + piece, false);
      kernels().stream(to, scratch + over, piece);
      to += piece;
      at += piece;
    }
  }
  kernels().fence();
}

void Program::unpack(const void* packed, void* user, std::int64_t begin, std::int64_t end, Stores stores) const {
  if (begin == end) return;
  auto* from = static_cast<char*>(const_cast<void*>(packed));
  run<Direction::unpack>(ops_[root_], static_cast<char*>(user) + data_.offset, from, begin, end,
                         stores == Stores::streamed);
  if (stores == Stores::streamed) kernels().fence();
}

}  // namespace dunnage::pack
