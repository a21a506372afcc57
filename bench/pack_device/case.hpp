// A case: what is packed, from where.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "geometry.hpp"
#include "pack/datatype.hpp"

namespace bench {

/// One description of a case as a datatype.
struct Description {
  std::string name;
  std::function<Datatype()> datatype;
  int count = 1;              ///< elements of the datatype in one call
  std::uint64_t address = 0;  ///< the byte of the user's buffer that the call is given
};

/// A box of an array of bytes. x varies fastest.
struct Box {
  std::array<std::uint64_t, 3> array, size, start;
};

/// A case at one start. Its geometry points into itself, so it is moved and not copied.
struct Case {
  Case() = default;
  Case(Case&&) = default;
  Case& operator=(Case&&) = default;

  std::string name;         ///< the text that the case was read from
  std::string start;        ///< zero, odd or aligned
  std::string kind;         ///< box, list, struct, transpose, vector or contiguous
  std::uint64_t block = 0;  ///< bytes of a row or block; the shortest if lengths differ
  std::uint64_t span = 0;   ///< bytes of the user's buffer, to the end of the last block
  Geometry geometry;
  std::vector<std::uint64_t> offsets, starts;  ///< the arrays that the geometry points to
  std::optional<Box> box;                      ///< set if the case is a box
  std::vector<Description> descriptions;

  /// Makes the geometry a list of blocks.
  void list(std::vector<std::uint64_t> block_offsets, std::vector<std::uint64_t> block_starts);
};

}  // namespace bench
