// Cases that are no boxes of bytes.
#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>

#include "make_case.hpp"

namespace bench {
namespace {

int integer(std::uint64_t value) { return static_cast<int>(value); }
MPI_Aint aint(std::uint64_t value) { return static_cast<MPI_Aint>(value); }

/// Returns an element of any size: a type of C if one has that size.
Datatype matrix_element(std::uint64_t bytes) {
  switch (bytes) {
    case 2: return Datatype::contiguous(1, MPI_SHORT);
    case 4: return Datatype::contiguous(1, MPI_FLOAT);
    case 8: return Datatype::contiguous(1, MPI_DOUBLE);
    default: return Datatype::contiguous(integer(bytes), MPI_BYTE);
  }
}

}  // namespace

std::uint64_t first_byte(const std::string& start, std::uint64_t unit) {
  return start == "odd" ? unit : start == "aligned" ? 48 : 0;
}

Element element(const std::string& name) {
  if (name == "byte") return {MPI_BYTE, 1};
  if (name == "char") return {MPI_CHAR, 1};
  if (name == "short") return {MPI_SHORT, 2};
  if (name == "int") return {MPI_INT, 4};
  if (name == "float") return {MPI_FLOAT, 4};
  if (name == "double") return {MPI_DOUBLE, 8};
  throw std::invalid_argument("'" + name + "' is none of byte, char, short, int, float, double");
}

std::optional<Case> block_list(std::uint64_t length, bool shuffled, std::uint64_t bytes, const std::string& start) {
  if (start == "aligned") return std::nullopt;
  std::mt19937_64 random(length);
  std::vector<std::uint64_t> offsets(std::max<std::uint64_t>(bytes / length, 1));
  std::uint64_t next = first_byte(start, 1);
  // Gaps are from 8 bytes to four times the block, so that the list is no loop and blocks do not
  // touch.
  for (auto& offset : offsets) {
    offset = next;
    next += length + 8 * (1 + random() % std::max<std::uint64_t>(length / 2, 1));
  }
  if (shuffled)
    for (std::size_t i = offsets.size() - 1; i > 0; --i) std::swap(offsets[i], offsets[random() % (i + 1)]);
  std::vector<MPI_Aint> displacements(offsets.begin(), offsets.end());
  Case made;
  made.kind = "list";
  made.geometry.length = length;
  made.geometry.bytes = length * offsets.size();
  made.list(std::move(offsets), {});
  made.descriptions.push_back({"hindexed_block", [length, displacements = std::move(displacements)] {
                                 return Datatype::hindexed_block(integer(length), displacements, MPI_BYTE).commit();
                               }});
  return made;
}

std::optional<Case> struct_array(const std::string& fields, std::uint64_t count, const std::string& start) {
  if (start == "aligned") return std::nullopt;
  std::vector<int> lengths;
  std::vector<MPI_Aint> displacements;
  std::vector<MPI_Datatype> types;
  std::vector<std::uint64_t> offsets, starts{0};
  std::uint64_t size = 0, alignment = 1;
  std::istringstream names(fields);
  for (std::string name; std::getline(names, name, ',');) {
    const auto star = name.find('*');
    const Element one = element(name.substr(0, star));
    const std::uint64_t number = star == std::string::npos ? 1 : std::stoull(name.substr(star + 1));
    size = up(size, one.bytes);
    alignment = std::max(alignment, one.bytes);
    lengths.push_back(integer(number));
    displacements.push_back(aint(size));
    types.push_back(one.type);
    offsets.push_back(size);
    starts.push_back(starts.back() + number * one.bytes);
    size += number * one.bytes;
  }
  size = up(size, alignment);
  Case made;
  made.kind = "struct";
  made.geometry.base = first_byte(start, alignment);
  made.geometry.inner = {count, size};
  made.geometry.bytes = starts.back();
  made.list(std::move(offsets), std::move(starts));
  made.descriptions.push_back({"struct",
                               [=] {
                                 const Datatype fields_only = Datatype::structure(lengths, displacements, types);
                                 return Datatype::resized(aint(size), fields_only).commit();
                               },
                               integer(count), first_byte(start, alignment)});
  return made;
}

std::optional<Case> subarrays(std::uint64_t number, const Extent& size, const Extent& array, const std::string& start) {
  if (start == "aligned") return std::nullopt;
  constexpr std::uint64_t bytes = sizeof(double);
  const std::uint64_t whole = array[0] * array[1] * array[2] * bytes;
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < number; ++i)
    for (std::uint64_t z = 0; z < size[2]; ++z)
      for (std::uint64_t y = 0; y < size[1]; ++y)
        // Each box stands one element further in than the last one, so that the structure is not a
        // loop.
        offsets.push_back(i * whole + ((z * array[1] + y) * array[0] + i % (array[0] - size[0] + 1)) * bytes);
  Case made;
  made.kind = "struct";
  made.geometry.base = first_byte(start, bytes);
  made.geometry.length = size[0] * bytes;
  made.geometry.bytes = made.geometry.length * offsets.size();
  made.list(std::move(offsets), {});
  made.descriptions.push_back({"struct",
                               [=] {
                                 std::vector<Datatype> boxes;
                                 std::vector<MPI_Aint> displacements;
                                 for (std::uint64_t i = 0; i < number; ++i) {
                                   boxes.push_back(
                                       Datatype::subarray({integer(array[2]), integer(array[1]), integer(array[0])},
                                                          {integer(size[2]), integer(size[1]), integer(size[0])},
                                                          {0, 0, integer(i % (array[0] - size[0] + 1))}, MPI_DOUBLE));
                                   displacements.push_back(aint(i * whole));
                                 }
                                 return Datatype::structure(std::vector<int>(number, 1), displacements,
                                                            std::vector<MPI_Datatype>(boxes.begin(), boxes.end()))
                                     .commit();
                               },
                               1, first_byte(start, bytes)});
  return made;
}

std::optional<Case> halo(std::uint64_t side, std::uint64_t depth, const std::string& start) {
  if (start == "aligned" || depth == 0 || 2 * depth >= side) return std::nullopt;
  constexpr std::uint64_t bytes = sizeof(double);
  struct Region {
    std::uint64_t first[3], size[3];
  };
  std::vector<Region> regions;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        if (x == 0 && y == 0 && z == 0) continue;
        Region region{};
        const int side_of[] = {x, y, z};
        for (int d = 0; d < 3; ++d) {
          region.first[d] = side_of[d] < 0 ? 0 : side_of[d] > 0 ? side - depth : depth;
          region.size[d] = side_of[d] ? depth : side - 2 * depth;
        }
        regions.push_back(region);
      }
  std::vector<std::uint64_t> offsets, starts{0};
  for (const Region& r : regions)
    for (std::uint64_t z = 0; z < r.size[2]; ++z)
      for (std::uint64_t y = 0; y < r.size[1]; ++y) {
        offsets.push_back((((r.first[2] + z) * side + r.first[1] + y) * side + r.first[0]) * bytes);
        starts.push_back(starts.back() + r.size[0] * bytes);
      }
  Case made;
  made.kind = "halo";
  made.geometry.base = first_byte(start, bytes);
  made.geometry.bytes = starts.back();
  made.list(std::move(offsets), std::move(starts));
  made.descriptions.push_back({"struct",
                               [=] {
                                 std::vector<Datatype> boxes;
                                 const int n = integer(side);
                                 for (const Region& r : regions)
                                   boxes.push_back(Datatype::subarray(
                                       {n, n, n}, {integer(r.size[2]), integer(r.size[1]), integer(r.size[0])},
                                       {integer(r.first[2]), integer(r.first[1]), integer(r.first[0])}, MPI_DOUBLE));
                                 return Datatype::structure(std::vector<int>(boxes.size(), 1),
                                                            std::vector<MPI_Aint>(boxes.size(), 0),
                                                            std::vector<MPI_Datatype>(boxes.begin(), boxes.end()))
                                     .commit();
                               },
                               1, first_byte(start, bytes)});
  return made;
}

std::optional<Case> transpose(std::uint64_t rows, std::uint64_t columns, std::uint64_t bytes,
                              const std::string& start) {
  if (start == "aligned") return std::nullopt;
  Case made;
  made.kind = "transpose";
  made.geometry.base = first_byte(start, bytes);
  made.geometry.outer = {columns, bytes};
  made.geometry.inner = {rows, columns * bytes};
  made.geometry.bytes = made.geometry.length = bytes;
  made.descriptions.push_back({"columns",
                               [=] {
                                 const Datatype one = matrix_element(bytes);
                                 const Datatype column = Datatype::vector(integer(rows), 1, integer(columns), one);
                                 return Datatype::resized(aint(bytes), column).commit();
                               },
                               integer(columns), first_byte(start, bytes)});
  return made;
}

std::optional<Case> vector(std::uint64_t count, std::uint64_t length, std::uint64_t stride, const std::string& type,
                           const std::string& start) {
  const Element one = element(type);
  Case made;
  made.kind = "vector";
  made.geometry.base = first_byte(start, one.bytes);
  made.geometry.inner = {count, stride * one.bytes};
  made.geometry.bytes = made.geometry.length = length * one.bytes;
  made.descriptions.push_back(
      {"vector", [=] { return Datatype::vector(integer(count), integer(length), integer(stride), one.type).commit(); },
       1, made.geometry.base});
  return made;
}

std::optional<Case> contiguous(std::uint64_t bytes, const std::string& start) {
  Case made;
  made.kind = "contiguous";
  made.geometry.base = first_byte(start, 1);
  made.geometry.bytes = made.geometry.length = bytes;
  made.descriptions.push_back(
      {"contiguous", [=] { return Datatype::contiguous(integer(bytes), MPI_BYTE).commit(); }, 1, made.geometry.base});
  return made;
}

}  // namespace bench
