// What is packed: cases, read from one line of text each.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "geometry.hpp"
#include "pack/datatype.hpp"

namespace bench {

/// One way of telling MPI about a case.
struct Description {
  std::string name;
  std::function<Datatype()> datatype;
  int count = 1;            ///< elements of the datatype in one call
  std::uint64_t address = 0;  ///< byte of the user's buffer that the call is given
};

/// A box of an array of bytes, x fastest.
struct Box {
  std::array<std::uint64_t, 3> array, size, start;
};

/// A case at one start. Its geometry points into itself, so it is moved and not copied.
struct Case {
  Case() = default;
  Case(Case&&) = default;
  Case& operator=(Case&&) = default;

  std::string name;   ///< the text
  std::string start;  ///< zero, odd, aligned
  std::string kind;   ///< box, list, struct, transpose, vector, contiguous
  std::uint64_t block = 0;  ///< bytes of a row or block; the shortest where they differ
  std::uint64_t span = 0;   ///< bytes of the user's buffer, to the end of the last block
  Geometry geometry;
  std::vector<std::uint64_t> offsets, starts;  ///< what the geometry points to
  std::optional<Box> box;                      ///< where it is one
  std::vector<Description> descriptions;

  /// The geometry's blocks, if a list.
  void list(std::vector<std::uint64_t> block_offsets, std::vector<std::uint64_t> block_starts);
};

/// Reads a case and puts it at a start: a box at (0,0,0), (1,3,5) or (16,3,5), others 0, one element or 48 bytes on. Nothing
/// where it would be that of zero; of lists, structures and transposes none is "aligned", which would add nothing to zero and
/// odd. Throws std::invalid_argument with the forms that there are.
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
