// The boxes of the blog post "Improving MPI_Pack performance in CUDA-aware MPI": bytes of a larger
// array, described in the blog post's four ways and as a subarray.
#include <algorithm>

#include "make_case.hpp"

namespace bench {
namespace {

// The longest list; it takes seconds to make and commit a longer one.
constexpr std::uint64_t most_rows = 1 << 21;

std::vector<Description> descriptions(const Box& b) {
  const auto [ax, ay, az] = b.array;
  const auto [x, y, z] = b.size;
  const auto [sx, sy, sz] = b.start;
  const std::uint64_t at = (sz * ay + sy) * ax + sx;
  const auto integer = [](std::uint64_t value) { return static_cast<int>(value); };
  const auto aint = [](std::uint64_t value) { return static_cast<MPI_Aint>(value); };

  std::vector<Description> all;
  all.push_back({"v_hv_hv",
                 [=] {
                   const Datatype row = Datatype::vector(integer(x), 1, 1, MPI_BYTE);
                   const Datatype plane = Datatype::hvector(integer(y), 1, aint(ax), row);
                   return Datatype::hvector(integer(z), 1, aint(ax * ay), plane).commit();
                 },
                 1, at});
  all.push_back({"v_hv",
                 [=] {
                   const Datatype plane = Datatype::vector(integer(y), integer(x), integer(ax), MPI_BYTE);
                   return Datatype::hvector(integer(z), 1, aint(ax * ay), plane).commit();
                 },
                 1, at});
  all.push_back({"subarray", [=] {
                   return Datatype::subarray({integer(az), integer(ay), integer(ax)},
                                             {integer(z), integer(y), integer(x)},
                                             {integer(sz), integer(sy), integer(sx)}, MPI_BYTE)
                       .commit();
                 }});
  if (y * z > most_rows) return all;
  const auto rows = [=] {
    std::vector<MPI_Aint> displacements;
    displacements.reserve(y * z);
    for (std::uint64_t k = 0; k < z; ++k)
      for (std::uint64_t j = 0; j < y; ++j) displacements.push_back(aint(at + (k * ay + j) * ax));
    return displacements;
  };
  all.push_back(
      {"hindexed", [=] { return Datatype::hindexed(std::vector<int>(y * z, integer(x)), rows(), MPI_BYTE).commit(); }});
  all.push_back({"hindexed_block", [=] { return Datatype::hindexed_block(integer(x), rows(), MPI_BYTE).commit(); }});
  return all;
}

}  // namespace

std::optional<Case> box(const Extent& size, const Extent& array, const std::string& start) {
  const Extent wanted = start == "odd" ? Extent{1, 3, 5} : start == "aligned" ? Extent{16, 3, 5} : Extent{0, 0, 0};
  Box b{array, size, {}};
  bool moved = false;
  for (std::size_t i = 0; i < 3; ++i) {
    if (size[i] == 0 || size[i] > array[i]) return std::nullopt;
    // If a box is as wide as the array, it has no other place in that direction.
    b.start[i] = wanted[i] <= array[i] - size[i] ? wanted[i] : 0;
    moved = moved || b.start[i] != 0;
  }
  if (start != "zero" && (!moved || (start == "aligned" && b.start[0] == 0))) return std::nullopt;
  Case made;
  made.kind = "box";
  const std::uint64_t plane = array[0] * array[1];
  made.geometry.base = b.start[2] * plane + b.start[1] * array[0] + b.start[0];
  made.geometry.outer = {size[2], plane};
  made.geometry.inner = {size[1], array[0]};
  made.geometry.bytes = made.geometry.length = size[0];
  made.box = b;
  made.descriptions = descriptions(b);
  return made;
}

}  // namespace bench
