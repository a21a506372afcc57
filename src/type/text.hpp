// A text form for datatypes, for `dunnage explain` and for tests: `vector(1024,1,1024,double)`.
//
//   TYPE := NAME | dup(TYPE) | contiguous(count,TYPE) | vector(count,blocklength,stride,TYPE)
//         | hvector(count,blocklength,stride_bytes,TYPE) | indexed([lengths],[displacements],TYPE)
//         | hindexed([lengths],[bytes],TYPE) | indexed_block(length,[displacements],TYPE)
//         | hindexed_block(length,[bytes],TYPE) | struct([lengths],[bytes],[TYPES])
//         | subarray([sizes],[subsizes],[starts],C|Fortran,TYPE)
//         | darray(size,rank,[gsizes],[block|cyclic|none],[arguments|default],[processes],C|Fortran,TYPE)
//         | resized(lb,extent,TYPE)
//
// MPI's own spelling is read too, as it stands in a program:
// `MPI_Type_create_indexed_block(2,1,{0,4},MPI_DOUBLE,&type);`. Counts before lists are then MPI's,
// the arguments are in MPI's order, and the new type's name may be left out. Calls with large
// counts (MPI_Type_vector_c) and in Fortran (call MPI_TYPE_VECTOR(..., column, ierr)) are read
// too.
#pragma once

#include <string_view>

#include "type/spec.hpp"

namespace dunnage::type {

/// Parses the text form. Throws SpecError, which tells the position of the error and what was
/// expected there.
SpecPtr parse(std::string_view text);

/// Returns the text form of a type. If `shorten` is true, long lists are shortened.
std::string to_text(const Spec& spec, bool shorten = false);

/// Returns the names of the predefined types that the text form has.
std::vector<std::string> type_names();

}  // namespace dunnage::type
