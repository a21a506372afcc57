// The cases: one function for each form of text in cases.hpp. A function returns nothing if the
// case has no such start.
#pragma once

#include "case.hpp"

namespace bench {

using Extent = std::array<std::uint64_t, 3>;

std::optional<Case> box(const Extent& size, const Extent& array, const std::string& start);
std::optional<Case> block_list(std::uint64_t length, bool shuffled, std::uint64_t bytes, const std::string& start);
std::optional<Case> struct_array(const std::string& fields, std::uint64_t count, const std::string& start);
/// The 26 regions at the border of a cube: corners, edges and faces, `depth` elements deep.
std::optional<Case> halo(std::uint64_t side, std::uint64_t depth, const std::string& start);
std::optional<Case> subarrays(std::uint64_t number, const Extent& size, const Extent& array, const std::string& start);
std::optional<Case> transpose(std::uint64_t rows, std::uint64_t columns, std::uint64_t bytes, const std::string& start);
std::optional<Case> vector(std::uint64_t count, std::uint64_t length, std::uint64_t stride, const std::string& type,
                           const std::string& start);
std::optional<Case> contiguous(std::uint64_t bytes, const std::string& start);

/// Returns the first byte of a case that is no box. `unit` keeps data of a type as aligned as the
/// type is.
std::uint64_t first_byte(const std::string& start, std::uint64_t unit);

/// A type of C and its size, which is also its alignment.
struct Element {
  MPI_Datatype type;
  std::uint64_t bytes;
};
/// Returns the type of that name. Throws std::invalid_argument if there is none.
Element element(const std::string& name);

}  // namespace bench
