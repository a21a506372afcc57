#include "type/quirks.hpp"

#include <algorithm>
#include <set>

namespace dunnage::type {
namespace {

/// Returns whether f holds for any node of the tree. A shared node is asked once.
template <class F>
bool anywhere(const Spec& spec, F&& f, std::set<const Spec*>& asked) {
  if (!asked.insert(&spec).second) return false;
  return f(spec) ||
         std::any_of(spec.types.begin(), spec.types.end(), [&](const auto& t) { return anywhere(*t, f, asked); });
}
template <class F>
bool anywhere(const Spec& spec, F&& f) {
  std::set<const Spec*> asked;
  return anywhere(spec, f, asked);
}

}  // namespace

bool has_stride_of_minus_one(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) {
    if (s.combiner == Combiner::vector) return s.integers[0] > 1 && s.integers[2] * s.types[0]->extent == -1;
    return s.combiner == Combiner::hvector && s.integers[0] > 1 && s.addresses[0] == -1;
  });
}

bool has_empty_struct_member(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) {
    return s.combiner == Combiner::structure &&
           std::any_of(s.types.begin(), s.types.end(), [](const auto& t) { return t->size == 0; });
  });
}

bool has_negative_extent(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) { return s.extent < 0; });
}

bool has_zero_extent(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) { return s.extent == 0 && s.size > 0; });
}

bool has_stride_of_blocklength(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) {
    if (s.types.empty() || std::all_of(s.types.begin(), s.types.end(), [](const auto& t) { return t->extent == 1; }))
      return false;
    const auto extent = s.types[0]->extent;
    switch (s.combiner) {
      case Combiner::vector: return s.integers[0] > 1 && s.integers[2] * extent == s.integers[1];
      case Combiner::hvector: return s.integers[0] > 1 && s.addresses[0] == s.integers[1];
      case Combiner::indexed:
      case Combiner::hindexed:
      case Combiner::indexed_block:
      case Combiner::hindexed_block:
      case Combiner::structure: {
        const bool in_bytes = s.combiner != Combiner::indexed && s.combiner != Combiner::indexed_block;
        for (std::size_t i = 1; i < s.addresses.size(); ++i) {
          const auto distance = (s.addresses[i] - s.addresses[i - 1]) * (in_bytes ? 1 : extent);
          if (distance == s.integers[s.integers.size() > 1 ? i - 1 : 0]) return true;
        }
        return false;
      }
      default: return false;
    }
  });
}

bool has_cyclic_blocks(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) {
    return s.combiner == Combiner::darray && s.dimensions.size() > 1 &&
           std::any_of(s.dimensions.begin(), s.dimensions.end(),
                       [](const Dimension& d) { return d.distribution == Distribution::cyclic && d.argument > 1; });
  });
}

bool has_large_elements_off_grid(const Spec& spec) {
  std::int64_t largest = 0;
  anywhere(spec, [&](const Spec& s) {
    if (s.combiner == Combiner::named && !s.pair) largest = std::max(largest, s.size);
    return false;
  });
  if (largest < 16) return false;
  return anywhere(spec, [&](const Spec& s) {
    const bool in_bytes = s.combiner == Combiner::hvector || s.combiner == Combiner::hindexed ||
                          s.combiner == Combiner::hindexed_block || s.combiner == Combiner::structure;
    return s.extent % largest != 0 ||
           (in_bytes && std::any_of(s.addresses.begin(), s.addresses.end(), [&](auto a) { return a % largest != 0; }));
  });
}

bool has_mixed_elements(const Spec& spec) {
  std::set<std::string> names;
  return anywhere(spec, [&](const Spec& s) {
    if (s.combiner != Combiner::named) return false;
    names.insert(s.name);
    return s.pair || names.size() > 1;
  });
}

}  // namespace dunnage::type
