// Properties of a datatype that some MPI is known to handle differently from the standard.
//
// Such a type must be packed by one engine everywhere: the MPI's own. tests/mpi/c/quirks.cpp finds these
// properties by comparing an MPI with the typemap; which MPI has which is a fact of plan/library.cpp.
#pragma once

#include "type/spec.hpp"

namespace dunnage::type {

/// A vector of several blocks exactly minus one byte apart. Open MPI takes the -1 for "no stride given".
bool has_stride_of_minus_one(const Spec& spec);
/// A struct with an empty member. Open MPI then packs a repeated struct as if it had no gaps.
bool has_empty_struct_member(const Spec& spec);
/// A type with a negative extent. MPICH packs some of these, repeated twice over, from wrong addresses.
bool has_negative_extent(const Spec& spec);
/// A type with data and an extent of zero. Intel MPI packs a list of these, repeated, from wrong addresses.
bool has_zero_extent(const Spec& spec);
/// Blocks as many bytes apart as a block has elements of more than a byte. Intel MPI takes them for contiguous.
bool has_stride_of_blocklength(const Spec& spec);
/// A darray of several dimensions, of which one is cyclic by several elements. Intel MPI packs some of these wrongly.
bool has_cyclic_blocks(const Spec& spec);
/// Elements of 16 bytes or more (complex numbers) at distances that are no multiples of their size. Open MPI 5 rounds
/// the distance down where it is a multiple of 8.
bool has_large_elements_off_grid(const Spec& spec);

/// Basic elements of more than one type. MPICH 4.0 fails to receive a long message of bytes into these.
bool has_mixed_elements(const Spec& spec);

}  // namespace dunnage::type
