// The brute-force typemap: every byte range of a type, in order, as the standard defines them.
//
// Tests and `dunnage explain` compare everything else with this oracle. It is slow on purpose. It
// shares no code with type/layout.cpp except the formula for the distribution of a darray.
#pragma once

#include <vector>

#include "type/spec.hpp"

namespace dunnage::type {

/// Returns the typemap of `count` elements in MPI's order. Each entry is one basic element: its
/// displacement and size in bytes.
std::vector<Member> typemap(const Spec& spec, std::int64_t count = 1);

/// Packs `count` elements at `user` into `packed`. Returns the number of bytes written.
std::int64_t typemap_pack(const Spec& spec, std::int64_t count, const void* user, void* packed);
/// Unpacks `count` elements from `packed` to `user`.
void typemap_unpack(const Spec& spec, std::int64_t count, const void* packed, void* user);

}  // namespace dunnage::type
