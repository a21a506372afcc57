// Properties of a datatype that some MPI is known to handle differently from the standard.
//
// A type with such a property must be packed by the MPI everywhere, and never by Dunnage.
// tests/mpi/c/quirks.cpp finds these properties: it compares an MPI with the typemap.
// plan/library.cpp says which MPI has which property.
#pragma once

#include "type/spec.hpp"

namespace dunnage::type {

/// The type is a vector of several blocks exactly minus one byte apart. Open MPI takes the -1 for
/// "no stride given".
bool has_stride_of_minus_one(const Spec& spec);
/// The type is a struct with an empty member. Open MPI then packs a repeated struct as if it had no
/// gaps.
bool has_empty_struct_member(const Spec& spec);
/// The type has a negative extent. MPICH packs some such types from wrong addresses when they are
/// repeated at two levels.
bool has_negative_extent(const Spec& spec);
/// The type has data and an extent of zero. Intel MPI packs a repeated list of such types from
/// wrong addresses.
bool has_zero_extent(const Spec& spec);
/// The stride in bytes equals the number of elements in a block, and an element has more than one
/// byte. Intel MPI takes such blocks for contiguous.
bool has_stride_of_blocklength(const Spec& spec);
/// The type is a darray of several dimensions, and one dimension is cyclic by several elements.
/// Intel MPI packs some such types wrongly.
bool has_cyclic_blocks(const Spec& spec);
/// Elements of 16 bytes or more (complex numbers) stand at distances that are no multiples of their
/// size. If such a distance is a multiple of 8, Open MPI 5 rounds it down.
bool has_large_elements_off_grid(const Spec& spec);

/// The type has basic elements of more than one type. MPICH 4.0 fails to receive a long message of
/// bytes into such a type.
bool has_mixed_elements(const Spec& spec);

}  // namespace dunnage::type
