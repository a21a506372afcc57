// The brute-force typemap: every byte range of a type, in order, straight from the standard's definitions.
//
// This is the oracle that the tests and `dunnage explain` compare everything with. It shares no code with
// type/layout.cpp beyond the darray's distribution formula, and is as slow as it looks.
#pragma once

#include <vector>

#include "type/spec.hpp"

namespace dunnage::type {

/// The typemap of `count` elements as (displacement, size) in bytes, one entry per basic element, in MPI order.
std::vector<Member> typemap(const Spec& spec, std::int64_t count = 1);

/// Packs `count` elements at `user` into `packed`; returns the bytes written.
std::int64_t typemap_pack(const Spec& spec, std::int64_t count, const void* user, void* packed);
/// Unpacks `count` elements.
void typemap_unpack(const Spec& spec, std::int64_t count, const void* packed, void* user);

}  // namespace dunnage::type
