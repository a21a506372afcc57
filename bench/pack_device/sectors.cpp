#include "sectors.hpp"

#include <algorithm>

namespace bench {
namespace {

/// Returns rows that share no sectors and all lie at the same place in their sectors, or one range
/// without holes.
std::optional<Rows> closed_form(const Geometry& g, const Sectors& found) {
  const std::uint64_t phase = g.base % sector;
  const std::uint64_t each = (phase + g.length + sector - 1) / sector;
  if (!g.offsets && g.outer.stride % sector == 0 && g.inner.stride % sector == 0 &&
      each * g.outer.count * g.inner.count == found.touched)
    return Rows{g.base,
                g.length,
                static_cast<std::uint32_t>(g.outer.count),
                static_cast<std::uint32_t>(g.inner.count),
                g.outer.stride,
                g.inner.stride,
                static_cast<std::uint32_t>(each),
                0};
  if (found.end - found.first == found.touched && (found.whole == 0 || found.whole == found.touched))
    return Rows{found.first * sector, found.touched * sector, 1, 1, 0, 0, static_cast<std::uint32_t>(found.touched),
                found.whole == 0};
  return std::nullopt;
}

}  // namespace

Sectors sectors(const Geometry& geometry) {
  std::vector<unsigned char> covered(span(geometry) / sector + 1);
  for_each_block(geometry, [&](std::uint64_t offset, std::uint64_t length) {
    for (const std::uint64_t end = offset + length; offset < end;) {
      const std::uint64_t next = std::min(end, offset / sector * sector + sector);
      covered[offset / sector] = static_cast<unsigned char>(covered[offset / sector] + (next - offset));
      offset = next;
    }
  });
  Sectors found;
  found.first = covered.size();
  for (std::uint64_t i = 0; i < covered.size(); ++i) {
    if (!covered[i]) continue;
    ++found.touched;
    found.whole += covered[i] == sector;
    found.first = std::min(found.first, i);
    found.end = i + 1;
  }
  found.rows = closed_form(geometry, found);
  if (found.rows) return found;
  found.list.reserve(found.touched);
  for (std::uint64_t i = found.first; i < found.end; ++i)
    if (covered[i]) found.list.push_back(static_cast<std::uint32_t>(2 * i + (covered[i] == sector)));
  return found;
}

}  // namespace bench
