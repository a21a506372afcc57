#include "type/quirks.hpp"

#include <algorithm>

namespace dunnage::type {
namespace {

template <class F>
bool anywhere(const Spec& spec, F&& f) {
  return f(spec) || std::any_of(spec.types.begin(), spec.types.end(), [&](const auto& t) { return anywhere(*t, f); });
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

bool has_struct(const Spec& spec) {
  return anywhere(spec, [](const Spec& s) { return s.combiner == Combiner::structure || s.members.size() > 1; });
}

}  // namespace dunnage::type
