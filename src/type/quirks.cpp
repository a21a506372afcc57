#include "type/quirks.hpp"

#include <algorithm>
#include <set>

namespace dunnage::type {
namespace {

/// Whether f holds for any node; parts that are shared are asked once.
template <class F>
bool anywhere(const Spec& spec, F&& f, std::set<const Spec*>& asked) {
  if (!asked.insert(&spec).second) return false;
  return f(spec) || std::any_of(spec.types.begin(), spec.types.end(), [&](const auto& t) { return anywhere(*t, f, asked); });
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

bool has_mixed_elements(const Spec& spec) {
  std::set<std::string> names;
  return anywhere(spec, [&](const Spec& s) {
    if (s.combiner != Combiner::named) return false;
    names.insert(s.name);
    return s.pair || names.size() > 1;
  });
}

}  // namespace dunnage::type
