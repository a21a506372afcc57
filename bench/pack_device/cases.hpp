// Cases are read from one line of text each.
#pragma once

#include <optional>
#include <string>

#include "case.hpp"

namespace bench {

/// Reads a case and puts it at a start. A box starts at (0,0,0), (1,3,5) or (16,3,5). Other cases
/// start at byte 0, one element later, or 48 bytes later. Returns nothing if the start would equal
/// that of zero. Lists, structures and transposes have no start "aligned", which would add nothing
/// to zero and odd. Throws std::invalid_argument, whose text lists all forms:
///
///   box 8x1024x128                            of an array of 1024^3 bytes; X x Y x Z, X fastest
///   box 1x4096x4096 of 64x4096x4096           of another one
///   list 8 sorted 8388608                     blocks of 8 bytes at random gaps, 8388608 bytes in all; or shuffled
///   struct int,double,char x 1048576          an array of structures as C lays them out; double*3 is an array in one
///   subarrays 5 64x64x64 of 128x128x128       a structure of 5 such boxes of doubles, each in an array of its own
///   halo 256 deep 1                           a structure of the 26 regions at the border of an array of 256^3 doubles
///   transpose 4096x4096 of 8                  the columns of a matrix of 4096 rows and columns of 8 bytes
///   vector 8388608 1/2 double                 blocks of 1 double, 2 apart
///   contiguous 8388608                        bytes
std::optional<Case> read_case(const std::string& text, const std::string& start);

}  // namespace bench
