// A small text form for datatypes: `vector(1024,1,1024,double)`, for `dunnage explain` and for tests.
//
//   TYPE := NAME | dup(TYPE) | contiguous(count,TYPE) | vector(count,blocklength,stride,TYPE)
//         | hvector(count,blocklength,stride_bytes,TYPE) | indexed([lengths],[displacements],TYPE)
//         | hindexed([lengths],[bytes],TYPE) | indexed_block(length,[displacements],TYPE)
//         | hindexed_block(length,[bytes],TYPE) | struct([lengths],[bytes],[TYPES])
//         | subarray([sizes],[subsizes],[starts],C|Fortran,TYPE)
//         | darray(size,rank,[gsizes],[block|cyclic|none],[arguments|default],[processes],C|Fortran,TYPE)
//         | resized(lb,extent,TYPE)
#pragma once

#include <string_view>

#include "type/spec.hpp"

namespace dunnage::type {

/// Parses the text form. Throws SpecError with the position and what was expected there.
SpecPtr parse(std::string_view text);

/// The text form of a type; long lists are shortened where `shorten` is set.
std::string to_text(const Spec& spec, bool shorten = false);

/// The names of the predefined types that the text form knows.
std::vector<std::string> type_names();

}  // namespace dunnage::type
