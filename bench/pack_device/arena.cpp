#include "arena.hpp"

#include <algorithm>

namespace bench {
namespace {

constexpr std::uint64_t line = 128;             // bytes that a cache keeps together
constexpr std::uint64_t forgotten = 384 << 20;  // bytes, several times the L2 cache of any GPU

/// Returns by how many bytes the case can be moved within `room` bytes. A box can be moved to every
/// place in its array. Other cases stand one behind the other.
std::vector<std::uint64_t> shifts(const Case& subject, std::uint64_t room, std::uint64_t most) {
  std::vector<std::uint64_t> found;
  if (subject.box) {
    const Box& b = *subject.box;
    const std::uint64_t step = up(b.start[0] % line + b.size[0], line);
    for (std::uint64_t z = b.start[2]; z + b.size[2] <= b.array[2]; z += b.size[2])
      for (std::uint64_t y = b.start[1]; y + b.size[1] <= b.array[1]; y += b.size[1])
        for (std::uint64_t x = b.start[0]; x + b.size[0] <= b.array[0]; x += step) {
          const std::uint64_t at = (z * b.array[1] + y) * b.array[0] + x;
          if (at - subject.geometry.base + subject.span <= room && found.size() < most)
            found.push_back(at - subject.geometry.base);
        }
  } else {
    const std::uint64_t step = up(subject.span, line);
    for (std::uint64_t at = 0; at + subject.span <= room && found.size() < most; at += step) found.push_back(at);
  }
  return found;
}

}  // namespace

std::vector<Slot> slots(const Case& subject, const Sectors& touched, const Arena& arena) {
  const std::uint64_t bytes = payload(subject.geometry);
  const std::uint64_t step = up(bytes + 2 * guard, 256);
  const std::uint64_t wanted = std::max<std::uint64_t>(forgotten / (sector * touched.touched + bytes), 1);
  const std::uint64_t most = std::min(wanted, arena.packed.bytes() / step);
  std::vector<Slot> found;
  for (const std::uint64_t shift : shifts(subject, arena.user.bytes(), most))
    found.push_back({arena.user.address() + shift, arena.packed.address() + found.size() * step + guard});
  return found;
}

}  // namespace bench
