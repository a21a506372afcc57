#include "pack/cpu/program.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/cache.hpp"
#include "pack/cpu/moves.hpp"
#include "pack/cpu/nest.hpp"

namespace dunnage::pack {
namespace {

using Kind = type::Node::Kind;

// The size of a buffer on the stack into which short blocks are gathered. It is small, so that the
// next lines of the user's memory are already under way while the buffer is written out.
constexpr std::int64_t scratch_size = 2048;

// A repeated list of at most this many blocks is run block by block, over many repeats each.
constexpr std::int64_t most_interleaved = 64;

std::int64_t bytes_before_line(const char* address) {
  return static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(address) % 64);
}

}  // namespace

Program::Program(const type::Layout& layout, std::int64_t count)
    : data_(type::loop(count, layout.extent, layout.data)), size_(data_.node ? data_.node->size : 0) {
  if (!data_.node) return;
  root_ = compile(*data_.node);
  // Compare both buffers together with the second-level cache. A block touches at most one or two
  // lines more than it fills.
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
        for (const auto* loop : chain) op.nest.dim[op.nest.dims++] = {loop->count, loop->stride, loop->child->size};
        break;
      }
      op.count = node.count;
      op.stride = node.stride;
      op.kind = node.child->kind == Kind::list && node.child->blocks <= most_interleaved ? Op::Kind::interleave
                                                                                         : Op::Kind::repeat;
      op.node = node.child.get();
      op.children = {compile(*node.child)};
      break;
    }
    case Kind::list: compile_list(node, op); break;
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

void Program::compile_list(const type::Node& node, Op& op) {
  // Blocks of one length are the fast case. Some blocks may be longer because neighbours were
  // joined. In this case the greatest common divisor of the lengths serves as unit, unless it cuts
  // the blocks into too many pieces.
  constexpr std::int64_t most_pieces = 4;
  const auto unit = type::common_length(node);
  if (node.size / unit > most_pieces * node.blocks) {
    op.kind = Op::Kind::blocks;
    return;
  }
  op.kind = Op::Kind::units;
  op.unit = unit;
  using Near = std::numeric_limits<std::int32_t>;
  const bool near = node.low >= Near::min() && node.high <= Near::max();
  const auto n = static_cast<std::size_t>(node.size / unit);
  near ? op.near.reserve(n) : op.offsets.reserve(n);
  for (std::size_t i = 0; i < node.offsets.size(); ++i) {
    const auto length = node.length ? node.length : node.prefix[i + 1] - node.prefix[i];
    for (std::int64_t k = 0; k < length; k += unit) {
      if (near)
        op.near.push_back(static_cast<std::int32_t>(node.offsets[i] + k));
      else
        op.offsets.push_back(node.offsets[i] + k);
    }
  }
}

std::string Program::kernel() const {
  if (!data_.node) return "none";
  const Op* op = &ops_[root_];
  while (op->kind == Op::Kind::repeat || op->kind == Op::Kind::spread) op = &ops_[op->children[0]];
  if (op->kind == Op::Kind::concat) return "concat";
  if (op->kind == Op::Kind::interleave) return fmt::format("interleaved rows ({})", op->node->blocks);
  if (op->kind == Op::Kind::units) return fmt::format("units[{}]", op->unit);
  if (op->kind == Op::Kind::blocks) return "blocks";
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
                       CacheUse caches) const {
  if (begin == end) return;
  if (level == nest.dims) {
    Dim none{};
    return run_whole_nest<D>(&none, 0, end - begin, user + begin, packed, caches);
  }
  const auto& dim = nest.dim[level];
  auto first = begin / dim.packed;
  const auto last = end / dim.packed, head = begin % dim.packed, tail = end % dim.packed;
  if (first == last) return run_nest<D>(nest, level + 1, user + first * dim.user, packed, head, tail, caches);
  if (head) {
    run_nest<D>(nest, level + 1, user + first * dim.user, packed, head, dim.packed, caches);
    packed += dim.packed - head;
    ++first;
  }
  if (first < last) {
    Dim dims[max_dims];
    const int n = nest.dims - level;
    std::copy_n(nest.dim + level, n, dims);
    dims[0].count = last - first;
    run_whole_nest<D>(dims, n, nest.block, user + first * dim.user, packed, caches);
    packed += (last - first) * dim.packed;
  }
  if (tail) run_nest<D>(nest, level + 1, user + last * dim.user, packed, 0, tail, caches);
}

template <Direction D>
void Program::run_units(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end,
                        CacheUse caches) const {
  const auto offset = [&](std::int64_t i) {
    return op.near.empty() ? op.offsets[static_cast<std::size_t>(i)] : op.near[static_cast<std::size_t>(i)];
  };
  // Copies bytes [a, b) of unit i.
  const auto part = [&](std::int64_t i, std::int64_t a, std::int64_t b) {
    char* u = user + offset(i) + a;
    D == Direction::pack ? copy_some(packed, u, b - a) : copy_some(u, packed, b - a);
    packed += b - a;
  };
  auto first = begin / op.unit;
  const auto last = end / op.unit, head = begin % op.unit, tail = end % op.unit;
  if (first == last) return part(first, head, tail);
  if (head) part(first++, head, op.unit);
  if (first < last) {
    const auto& k = kernels();
    if (op.near.empty()) {
      const Units<std::int64_t> all{user, packed, op.offsets.data() + first, last - first, op.unit, caches.far};
      D == Direction::pack ? k.pack_units(all) : k.unpack_units(all);
    } else {
      const Units<std::int32_t> all{user, packed, op.near.data() + first, last - first, op.unit, caches.far};
      D == Direction::pack ? k.pack_near_units(all) : k.unpack_near_units(all);
    }
    packed += (last - first) * op.unit;
  }
  if (tail) part(last, 0, tail);
}

template <Direction D>
void Program::run_blocks(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end,
                         CacheUse caches) const {
  const auto& list = *op.node;
  const auto index_of = [&](std::int64_t byte) {
    return std::upper_bound(list.prefix.begin(), list.prefix.end(), byte) - list.prefix.begin() - 1;
  };
  // Copies stream bytes [a, b), which lie in block i.
  const auto part = [&](std::int64_t i, std::int64_t a, std::int64_t b) {
    char* u = user + list.offsets[i] + (a - list.prefix[i]);
    D == Direction::pack ? copy_some(packed, u, b - a) : copy_some(u, packed, b - a);
    packed += b - a;
  };
  auto first = index_of(begin);
  const auto last = index_of(end);
  if (first == last) return part(first, begin, end);
  if (begin > list.prefix[first]) {
    part(first, begin, list.prefix[first + 1]);
    ++first;
  }
  if (first < last) {
    const Blocks all{user, packed, list.offsets.data() + first, list.prefix.data() + first, last - first, caches.far};
    D == Direction::pack ? kernels().pack_blocks(all) : kernels().unpack_blocks(all);
    packed += list.prefix[last] - list.prefix[first];
  }
  if (end > list.prefix[last]) part(last, list.prefix[last], end);
}

template <Direction D>
void Program::run_interleaved(const Op& op, char* user, char* packed, std::int64_t first, std::int64_t last,
                              CacheUse caches) const {
  // Each block of the list, over many repeats, is one loop of rows. A call takes as many repeats as
  // stay in the nearest cache.
  constexpr std::int64_t near_bytes = 8192;
  const auto& list = *op.node;
  const auto chunk = std::max<std::int64_t>(near_bytes / list.size, 4);
  const auto& k = kernels();
  for (; first < last; first += chunk) {
    const auto n = std::min(chunk, last - first);
    for (std::size_t i = 0; i < list.offsets.size(); ++i) {
      const auto at = list.length ? static_cast<std::int64_t>(i) * list.length : list.prefix[i];
      const auto length = list.length ? list.length : list.prefix[i + 1] - at;
      const Rows rows{
          user + first * op.stride + list.offsets[i], packed + at, {1, 0, 0}, {n, op.stride, list.size}, length,
          prefetch_of(caches, D, length, op.stride)};
      D == Direction::pack ? k.pack_rows(rows) : k.unpack_rows(rows);
    }
    packed += n * list.size;
  }
}

template <Direction D>
void Program::run(const Op& op, char* user, char* packed, std::int64_t begin, std::int64_t end, CacheUse caches) const {
  if (begin == end) return;
  switch (op.kind) {
    case Op::Kind::nest: return run_nest<D>(op.nest, 0, user, packed, begin, end, caches);
    case Op::Kind::units: return run_units<D>(op, user, packed, begin, end, caches);
    case Op::Kind::blocks: return run_blocks<D>(op, user, packed, begin, end, caches);
    case Op::Kind::interleave: {
      const auto& child = ops_[op.children[0]];
      auto first = begin / child.size;
      const auto last = end / child.size, head = begin % child.size, tail = end % child.size;
      if (first == last) return run<D>(child, user + first * op.stride, packed, head, tail, caches);
      if (head) {
        run<D>(child, user + first * op.stride, packed, head, child.size, caches);
        packed += child.size - head;
        ++first;
      }
      if (first < last) run_interleaved<D>(op, user, packed, first, last, caches);
      packed += (last - first) * child.size;
      return run<D>(child, user + last * op.stride, packed, 0, tail, caches);
    }
    case Op::Kind::repeat:
    case Op::Kind::spread: {
      const auto& child = ops_[op.children[0]];
      for (auto i = begin / child.size; begin < end; ++i) {
        const auto a = begin - i * child.size, b = std::min(end - i * child.size, child.size);
        const auto at = op.kind == Op::Kind::repeat ? i * op.stride : op.node->offsets[i];
        run<D>(child, user + at, packed, a, b, caches);
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
        run<D>(ops_[op.children[i]], user + op.node->offsets[i], packed, a, b, caches);
        packed += b - a;
        begin += b - a;
      }
      return;
    }
  }
}

bool Program::packs_directly(const Op& op, const char* packed) const {
  switch (op.kind) {
    case Op::Kind::nest: return streams_directly(op.nest.dim, op.nest.dims, op.nest.block, packed);
    case Op::Kind::repeat:
    case Op::Kind::spread: {
      // If the first two children fill lines, all of them do: they are at equal distances.
      const auto& child = ops_[op.children[0]];
      return packs_directly(child, packed) && packs_directly(child, packed + child.size);
    }
    case Op::Kind::concat:
      for (std::size_t i = 0; i < op.children.size(); ++i)
        if (!packs_directly(ops_[op.children[i]], packed + op.node->prefix[i])) return false;
      return true;
    case Op::Kind::units:
    case Op::Kind::blocks:
    case Op::Kind::interleave: return false;
  }
  return false;
}

void Program::pack_alone(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores) const {
  const auto& op = ops_[root_];
  auto* from = static_cast<char*>(const_cast<void*>(user)) + data_.offset;
  auto* to = static_cast<char*>(packed);
  const CacheUse caches{stores == Stores::streamed, far()};
  if (stores == Stores::cached) return run<Direction::pack>(op, from, to, begin, end, caches);
  if (packs_directly(op, to - begin)) {
    run<Direction::pack>(op, from, to, begin, end, caches);
    return kernels().fence();
  }
  // Short blocks are gathered into a buffer that stays in the nearest cache. From there they are
  // written in whole lines.
  alignas(64) char scratch[scratch_size];
  auto* gathered = scratch + reinterpret_cast<std::uintptr_t>(to) % 64;
  for (auto at = begin; at < end; gathered = scratch) {
    const auto n = std::min(end - at, scratch + scratch_size - gathered);
    run<Direction::pack>(op, from, gathered, at, at + n, {false, far(), true});
    kernels().stream(to, gathered, n);
    to += n;
    at += n;
  }
  kernels().fence();
}

void Program::unpack_alone(const void* packed, void* user, std::int64_t begin, std::int64_t end, Stores stores) const {
  auto* from = static_cast<char*>(const_cast<void*>(packed));
  auto* to = static_cast<char*>(user) + data_.offset;
  run<Direction::unpack>(ops_[root_], to, from, begin, end, {stores == Stores::streamed, far()});
  if (stores == Stores::streamed) kernels().fence();
}

void Program::pack(const void* user, void* packed, std::int64_t begin, std::int64_t end, Stores stores) const {
  if (begin == end) return;
  if (!shares(end - begin)) return pack_alone(user, packed, begin, end, stores);
  auto* to = static_cast<char*>(packed);
  helpers().share(begin, end, bytes_before_line(to), [=, this](std::int64_t from, std::int64_t until) {
    pack_alone(user, to + (from - begin), from, until, stores);
  });
}

void Program::unpack(const void* packed, void* user, std::int64_t begin, std::int64_t end, Stores stores) const {
  if (begin == end) return;
  if (!shares(end - begin)) return unpack_alone(packed, user, begin, end, stores);
  const auto* bytes = static_cast<const char*>(packed);
  helpers().share(begin, end, bytes_before_line(bytes), [=, this](std::int64_t from, std::int64_t until) {
    unpack_alone(bytes + (from - begin), user, from, until, stores);
  });
}

}  // namespace dunnage::pack
