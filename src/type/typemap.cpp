#include "type/typemap.hpp"

#include <cstring>

namespace dunnage::type {
namespace {

using Map = std::vector<Member>;

void walk(const Spec& spec, std::int64_t at, Map& map);

void copies(const Spec& old, std::int64_t at, std::int64_t count, Map& map) {
  for (std::int64_t i = 0; i < count; ++i) walk(old, at + i * old.extent, map);
}

/// Appends the elements of a subarray or darray, with the fastest dimension innermost.
void array(const Spec& spec, const std::vector<Ints>& indices, std::size_t level, std::int64_t at, Map& map) {
  const auto order = fastest_first(spec);
  if (level == 0) return walk(*spec.types[0], at, map);
  const auto dimension = order[level - 1];
  std::int64_t stride = spec.types[0]->extent;
  for (std::size_t i = 0; i + 1 < level; ++i) stride *= spec.dimensions[order[i]].size;
  for (const auto index : indices[dimension]) array(spec, indices, level - 1, at + index * stride, map);
}

void walk(const Spec& spec, std::int64_t at, Map& map) {
  const Spec* old = spec.types.empty() ? nullptr : spec.types[0].get();
  switch (spec.combiner) {
    case Combiner::named:
      for (const auto& m : spec.members) map.push_back({at + m.displacement, m.size});
      return;
    case Combiner::dup:
    case Combiner::resized: return walk(*old, at, map);
    case Combiner::contiguous: return copies(*old, at, spec.integers[0], map);
    case Combiner::vector:
    case Combiner::hvector: {
      const auto stride = spec.combiner == Combiner::vector ? spec.integers[2] * old->extent : spec.addresses[0];
      for (std::int64_t i = 0; i < spec.integers[0]; ++i) copies(*old, at + i * stride, spec.integers[1], map);
      return;
    }
    case Combiner::indexed:
    case Combiner::hindexed:
    case Combiner::indexed_block:
    case Combiner::hindexed_block: {
      const bool bytes = spec.combiner == Combiner::hindexed || spec.combiner == Combiner::hindexed_block;
      const bool uniform = spec.combiner == Combiner::indexed_block || spec.combiner == Combiner::hindexed_block;
      for (std::size_t i = 0; i < spec.addresses.size(); ++i)
        copies(*old, at + spec.addresses[i] * (bytes ? 1 : old->extent), spec.integers[uniform ? 0 : i], map);
      return;
    }
    case Combiner::structure:
      for (std::size_t i = 0; i < spec.addresses.size(); ++i)
        copies(*spec.types[i], at + spec.addresses[i], spec.integers[i], map);
      return;
    case Combiner::subarray: {
      std::vector<Ints> indices(spec.dimensions.size());
      for (std::size_t d = 0; d < indices.size(); ++d)
        for (std::int64_t i = 0; i < spec.dimensions[d].subsize; ++i)
          indices[d].push_back(spec.dimensions[d].start + i);
      return array(spec, indices, indices.size(), at, map);
    }
    case Combiner::darray: {
      const auto coordinates = grid_coordinates(spec);
      std::vector<Ints> indices(spec.dimensions.size());
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const auto share = share_of(spec.dimensions[d], coordinates[d]);
        for (std::int64_t b = 0; b < share.full; ++b)
          for (std::int64_t i = 0; i < share.length; ++i) indices[d].push_back(share.start + b * share.step + i);
        for (std::int64_t i = 0; i < share.rest; ++i) indices[d].push_back(share.start + share.full * share.step + i);
      }
      return array(spec, indices, indices.size(), at, map);
    }
  }
}

}  // namespace

std::vector<Member> typemap(const Spec& spec, std::int64_t count) {
  Map map;
  copies(spec, 0, count, map);
  return map;
}

std::int64_t typemap_pack(const Spec& spec, std::int64_t count, const void* user, void* packed) {
  auto* to = static_cast<char*>(packed);
  for (const auto& m : typemap(spec, count)) {
    std::memcpy(to, static_cast<const char*>(user) + m.displacement, static_cast<std::size_t>(m.size));
    to += m.size;
  }
  return to - static_cast<char*>(packed);
}

void typemap_unpack(const Spec& spec, std::int64_t count, const void* packed, void* user) {
  auto* from = static_cast<const char*>(packed);
  for (const auto& m : typemap(spec, count)) {
    std::memcpy(static_cast<char*>(user) + m.displacement, from, static_cast<std::size_t>(m.size));
    from += m.size;
  }
}

}  // namespace dunnage::type
