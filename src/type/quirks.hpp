// Properties of a datatype that some MPI is known to handle differently from the standard.
//
// Such a type must be packed by one engine everywhere: the MPI's own. tests/mpi/c/quirks.cpp finds these
// properties by comparing an MPI with the typemap; which MPI has which is a fact of calls/types.cpp.
#pragma once

#include "type/spec.hpp"

namespace dunnage::type {

/// A vector of several blocks exactly minus one byte apart. Open MPI 4.1 and 5.0 take the -1 for "no stride given".
bool has_stride_of_minus_one(const Spec& spec);
/// A struct with an empty member. Open MPI 4.1 then packs a repeated struct as if it had no gaps.
bool has_empty_struct_member(const Spec& spec);
/// A type with a negative extent. MPICH 4.0 packs some of these, repeated twice over, from wrong addresses.
bool has_negative_extent(const Spec& spec);

/// Basic elements of more than one type. MPICH 4.0 fails to receive a long message of bytes into these.
bool has_mixed_elements(const Spec& spec);

}  // namespace dunnage::type
