#include "type/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace dunnage::type {
namespace {

using Kind = Node::Kind;

// A child of at most this many blocks is written out as a list if it repeats irregularly. A flat
// list is faster to walk than a tree, and its length stays linear in the length of the user's list.
constexpr std::int64_t flatten_limit = 16;

std::shared_ptr<Node> make(Kind kind) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  return node;
}

/// Calls f(offset, length) for every block of a small subtree, in packed order.
template <class F>
void each_block(const Node& node, std::int64_t at, F&& f) {
  switch (node.kind) {
    case Kind::block: return f(at, node.size);
    case Kind::loop:
      for (std::int64_t i = 0; i < node.count; ++i) each_block(*node.child, at + i * node.stride, f);
      return;
    case Kind::list:
      for (std::size_t i = 0; i < node.offsets.size(); ++i)
        f(at + node.offsets[i], node.length ? node.length : node.prefix[i + 1] - node.prefix[i]);
      return;
    case Kind::spread:
      for (const auto offset : node.offsets) each_block(*node.child, at + offset, f);
      return;
    case Kind::concat:
      for (std::size_t i = 0; i < node.offsets.size(); ++i) each_block(*node.children[i], at + node.offsets[i], f);
      return;
  }
}

/// Returns whether the offsets are those of a nest of loops around `leaf`, and sets `nest` if so.
/// Takes O(n): each level is scanned once and leaves at most half as many starts for the next
/// level.
bool regular(const Ints& offsets, const Placed& leaf, Placed& nest) {
  Ints starts = offsets;
  nest = leaf;
  while (starts.size() > 1) {
    const auto stride = starts[1] - starts[0];
    std::size_t run = 2;
    while (run < starts.size() && starts[run] - starts[run - 1] == stride) ++run;
    if (starts.size() % run != 0) return false;
    Ints outer;
    outer.reserve(starts.size() / run);
    for (std::size_t i = 0; i < starts.size(); i += run) {
      outer.push_back(starts[i]);
      for (std::size_t j = i + 1; j < i + run; ++j)
        if (starts[j] - starts[j - 1] != stride) return false;
    }
    nest = loop(static_cast<std::int64_t>(run), stride, nest);
    starts = std::move(outer);
  }
  nest.offset += starts[0];
  return true;
}

void shift_to_zero(Ints& offsets, std::int64_t& first) {
  first = offsets[0];
  for (auto& offset : offsets) offset -= first;
}

Placed array_layout(const Spec& spec, Placed data) {
  const auto coordinates = spec.combiner == Combiner::darray ? grid_coordinates(spec) : Ints{};
  auto stride = spec.types[0]->extent;
  for (const auto index : fastest_first(spec)) {
    const auto& d = spec.dimensions[index];
    if (spec.combiner == Combiner::subarray) {
      data = loop(d.subsize, stride, data);
      data.offset = plus(data.offset, times(d.start, stride));
    } else {
      const auto share = share_of(d, coordinates[index]);
      auto whole = loop(share.full, times(share.step, stride), loop(share.length, stride, data));
      auto rest = loop(share.rest, stride, data);
      rest.offset = plus(rest.offset, times(times(share.full, share.step), stride));
      data = concat({whole, rest});
      data.offset = plus(data.offset, times(share.start, stride));
    }
    stride = times(stride, d.size);
  }
  return data;
}

using Memo = std::map<const Spec*, Placed>;  // a type may occur several times in a tree

Placed data_of(const Spec& spec, Memo& memo);

Placed build(const Spec& spec, Memo& memo) {
  switch (spec.combiner) {
    case Combiner::named: {
      Ints offsets, lengths;
      for (const auto& m : spec.members) {
        offsets.push_back(m.displacement);
        lengths.push_back(m.size);
      }
      return list(std::move(offsets), std::move(lengths));
    }
    case Combiner::dup:
    case Combiner::resized: return data_of(*spec.types[0], memo);
    case Combiner::contiguous: return loop(spec.integers[0], spec.types[0]->extent, data_of(*spec.types[0], memo));
    case Combiner::vector:
    case Combiner::hvector: {
      const auto extent = spec.types[0]->extent;
      const auto stride = spec.combiner == Combiner::vector ? times(spec.integers[2], extent) : spec.addresses[0];
      return loop(spec.integers[0], stride, loop(spec.integers[1], extent, data_of(*spec.types[0], memo)));
    }
    case Combiner::indexed_block:
    case Combiner::hindexed_block: {
      const auto extent = spec.types[0]->extent;
      auto offsets = spec.addresses;
      if (spec.combiner == Combiner::indexed_block)
        for (auto& offset : offsets) offset = times(offset, extent);
      return spread(std::move(offsets), loop(spec.integers[0], extent, data_of(*spec.types[0], memo)));
    }
    case Combiner::indexed:
    case Combiner::hindexed: {
      const auto extent = spec.types[0]->extent;
      const auto unit = spec.combiner == Combiner::indexed ? extent : 1;
      const auto child = data_of(*spec.types[0], memo);
      const auto n = spec.addresses.size();
      const bool uniform =
          std::adjacent_find(spec.integers.begin(), spec.integers.end(), std::not_equal_to<>()) == spec.integers.end();
      Ints offsets, lengths;
      offsets.reserve(n);
      const bool solid = child.node && child.node->kind == Kind::block && child.node->size == extent;
      if (uniform || solid) {
        for (std::size_t i = 0; i < n; ++i) offsets.push_back(times(spec.addresses[i], unit));
        if (uniform) return spread(std::move(offsets), n ? loop(spec.integers[0], extent, child) : Placed{});
        for (std::size_t i = 0; i < n; ++i) {
          offsets[i] = plus(offsets[i], child.offset);
          lengths.push_back(times(spec.integers[i], extent));
        }
        return list(std::move(offsets), std::move(lengths));
      }
      for (std::size_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < spec.integers[i]; ++j)
          offsets.push_back(plus(times(spec.addresses[i], unit), times(j, extent)));
      return spread(std::move(offsets), child);
    }
    case Combiner::structure: {
      std::vector<Placed> parts;
      parts.reserve(spec.types.size());
      for (std::size_t i = 0; i < spec.types.size(); ++i) {
        auto part = loop(spec.integers[i], spec.types[i]->extent, data_of(*spec.types[i], memo));
        part.offset = plus(part.offset, spec.addresses[i]);
        parts.push_back(std::move(part));
      }
      return concat(parts);
    }
    case Combiner::subarray:
    case Combiner::darray: return array_layout(spec, data_of(*spec.types[0], memo));
  }
  throw SpecError("unknown combiner");
}

Placed data_of(const Spec& spec, Memo& memo) {
  if (const auto seen = memo.find(&spec); seen != memo.end()) return seen->second;
  return memo.emplace(&spec, build(spec, memo)).first->second;
}

}  // namespace

std::int64_t common_length(const Node& list) {
  auto length = list.length;
  for (std::size_t i = 0; length != 1 && i + 1 < list.prefix.size(); ++i)
    length = std::gcd(length, list.prefix[i + 1] - list.prefix[i]);
  return length;
}

bool Node::operator==(const Node& o) const {
  if (this == &o) return true;
  if (kind != o.kind || size != o.size || blocks != o.blocks || low != o.low || high != o.high || count != o.count ||
      stride != o.stride || length != o.length || offsets != o.offsets || prefix != o.prefix ||
      children.size() != o.children.size() || !child != !o.child)
    return false;
  if (child && !(*child == *o.child)) return false;
  for (std::size_t i = 0; i < children.size(); ++i)
    if (!(*children[i] == *o.children[i])) return false;
  return true;
}

Placed block(std::int64_t offset, std::int64_t size) {
  if (size == 0) return {};
  auto node = make(Kind::block);
  node->size = node->high = size;
  return {offset, node};
}

Placed loop(std::int64_t count, std::int64_t stride, const Placed& child) {
  if (count == 0 || !child.node) return {};
  if (count == 1) return child;
  const auto& inner = *child.node;
  if (inner.kind == Kind::block && inner.size == stride) return block(child.offset, times(count, stride));
  if (inner.kind == Kind::loop && times(inner.count, inner.stride) == stride)
    return {child.offset, loop(times(count, inner.count), inner.stride, {0, inner.child}).node};
  auto node = make(Kind::loop);
  const auto reach = times(count - 1, stride);
  node->size = times(count, inner.size);
  node->blocks = times(count, inner.blocks);
  node->low = plus(inner.low, std::min<std::int64_t>(reach, 0));
  node->high = plus(inner.high, std::max<std::int64_t>(reach, 0));
  node->count = count;
  node->stride = stride;
  node->child = child.node;
  return {child.offset, node};
}

Placed list(Ints offsets, Ints lengths) {
  const bool one_length = lengths.size() == 1;
  // Drop empty blocks and join adjacent ones.
  Ints at, len;
  at.reserve(offsets.size());
  len.reserve(offsets.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const auto length = lengths[one_length ? 0 : i];
    if (length == 0) continue;
    if (!at.empty() && at.back() + len.back() == offsets[i]) {
      len.back() += length;
    } else {
      at.push_back(offsets[i]);
      len.push_back(length);
    }
  }
  if (at.empty()) return {};
  if (at.size() == 1) return block(at[0], len[0]);
  const bool uniform = std::adjacent_find(len.begin(), len.end(), std::not_equal_to<>()) == len.end();
  if (Placed nest; uniform && regular(at, block(0, len[0]), nest)) return nest;

  auto node = make(Kind::list);
  Placed placed;
  shift_to_zero(at, placed.offset);
  node->blocks = static_cast<std::int64_t>(at.size());
  if (uniform) {
    node->length = len[0];
    node->size = times(len[0], node->blocks);
  } else {
    node->prefix.reserve(at.size() + 1);
    node->prefix.push_back(0);
    for (const auto length : len) node->prefix.push_back(plus(node->prefix.back(), length));
    node->size = node->prefix.back();
  }
  node->low = 0;
  node->high = len[0];
  for (std::size_t i = 0; i < at.size(); ++i) {
    node->low = std::min(node->low, at[i]);
    node->high = std::max(node->high, at[i] + len[i]);
  }
  node->offsets = std::move(at);
  placed.node = node;
  return placed;
}

Placed spread(Ints offsets, const Placed& child) {
  if (offsets.empty() || !child.node) return {};
  for (auto& offset : offsets) offset = plus(offset, child.offset);
  const auto& inner = *child.node;
  if (inner.kind == Kind::block) return list(std::move(offsets), {inner.size});
  if (Placed nest; regular(offsets, {0, child.node}, nest)) return nest;
  if (inner.blocks <= flatten_limit) {
    Ints at, len;
    for (const auto offset : offsets)
      each_block(inner, offset, [&](std::int64_t o, std::int64_t l) {
        at.push_back(o);
        len.push_back(l);
      });
    return list(std::move(at), std::move(len));
  }
  auto node = make(Kind::spread);
  Placed placed;
  shift_to_zero(offsets, placed.offset);
  const auto n = static_cast<std::int64_t>(offsets.size());
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  node->size = times(n, inner.size);
  node->blocks = times(n, inner.blocks);
  node->low = plus(*least, inner.low);
  node->high = plus(*most, inner.high);
  node->child = child.node;
  node->offsets = std::move(offsets);
  placed.node = node;
  return placed;
}

Placed concat(const std::vector<Placed>& parts) {
  // Nested concatenations become one concatenation. Runs of small pieces become one list.
  std::vector<Placed> flat;
  for (const auto& part : parts) {
    if (!part.node) continue;
    if (part.node->kind == Kind::concat) {
      for (std::size_t i = 0; i < part.node->children.size(); ++i)
        flat.push_back({part.offset + part.node->offsets[i], part.node->children[i]});
    } else {
      flat.push_back(part);
    }
  }
  if (flat.empty()) return {};
  const auto same = [&](const Placed& p) { return *p.node == *flat[0].node; };
  if (std::all_of(flat.begin(), flat.end(), same) && flat[0].node->kind != Kind::block) {
    Ints offsets;
    for (const auto& part : flat) offsets.push_back(part.offset);
    return spread(std::move(offsets), {0, flat[0].node});
  }

  std::vector<Placed> joined;
  Ints at, len;
  const auto flush = [&] {
    if (!at.empty()) joined.push_back(list(std::move(at), std::move(len)));
    at.clear();
    len.clear();
  };
  for (const auto& part : flat) {
    if (part.node->blocks > flatten_limit) {
      flush();
      joined.push_back(part);
      continue;
    }
    each_block(*part.node, part.offset, [&](std::int64_t o, std::int64_t l) {
      at.push_back(o);
      len.push_back(l);
    });
  }
  flush();
  if (joined.size() == 1) return joined[0];

  auto node = make(Kind::concat);
  const auto first = joined[0].offset;
  node->blocks = 0;
  node->prefix.push_back(0);
  node->low = joined[0].node->low;
  node->high = joined[0].node->high;
  for (const auto& part : joined) {
    const auto offset = part.offset - first;
    node->offsets.push_back(offset);
    node->children.push_back(part.node);
    node->blocks += part.node->blocks;
    node->size = plus(node->size, part.node->size);
    node->prefix.push_back(node->size);
    node->low = std::min(node->low, plus(offset, part.node->low));
    node->high = std::max(node->high, plus(offset, part.node->high));
  }
  return {first, node};
}

Layout layout_of(const Placed& data) {
  Layout layout;
  layout.data = data;
  layout.size = layout.extent = data.node ? data.node->size : 0;
  return layout;
}

Layout layout_of(const Spec& spec) {
  Layout layout;
  Memo memo;
  layout.data = data_of(spec, memo);
  layout.size = spec.size;
  layout.lb = spec.lb;
  layout.extent = spec.extent;
  if (layout.data.node) {
    layout.true_lb = plus(layout.data.offset, layout.data.node->low);
    layout.true_extent = layout.data.node->high - layout.data.node->low;
  }
  return layout;
}

namespace {
std::string describe(const Node& node) {
  switch (node.kind) {
    case Kind::block: return fmt::format("[{}]", node.size);
    case Kind::loop: return fmt::format("{}x({:+}) {}", node.count, node.stride, describe(*node.child));
    case Kind::list:
      if (node.length) return fmt::format("list {} of [{}]", node.offsets.size(), node.length);
      return fmt::format("list {} of {} bytes in all", node.offsets.size(), node.size);
    case Kind::spread: return fmt::format("spread {} of {{{}}}", node.offsets.size(), describe(*node.child));
    case Kind::concat: {
      std::string text = "concat {";
      for (std::size_t i = 0; i < node.children.size(); ++i)
        text += fmt::format("{}{:+}: {}", i ? "; " : "", node.offsets[i], describe(*node.children[i]));
      return text + "}";
    }
  }
  return {};
}
}  // namespace

std::string to_string(const Placed& data) {
  if (!data.node) return "empty";
  return fmt::format("{:+} {}", data.offset, describe(*data.node));
}

}  // namespace dunnage::type
