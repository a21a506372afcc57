// One type, one count: the engine against the brute-force typemap. Shared by the random tests and
// the fuzz target.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "buffer.hpp"
#include "pack/cpu/program.hpp"
#include "type/typemap.hpp"

namespace dunnage::tests {

/// A source of numbers in [low, high].
using Between = std::function<std::int64_t(std::int64_t low, std::int64_t high)>;

/// Whether two elements of the typemap share a byte; such a type may be sent but not received.
inline bool overlaps(const type::Spec& spec, std::int64_t count) {
  auto map = type::typemap(spec, count);
  std::sort(map.begin(), map.end(), [](auto& a, auto& b) { return a.displacement < b.displacement; });
  for (std::size_t i = 1; i < map.size(); ++i)
    if (map[i - 1].displacement + map[i - 1].size > map[i].displacement) return true;
  return false;
}

/// What is wrong, or nothing. Packs and unpacks whole and cut anywhere, with both kinds of stores,
/// between guards.
inline std::optional<std::string> check_program(const type::Spec& spec, std::int64_t count, const Between& between) {
  using Bytes = std::vector<unsigned char>;
  const auto layout = type::layout_of(spec);
  if (layout.size != (layout.data.node ? layout.data.node->size : 0)) return "the layout's size";
  const pack::Program program(layout, count);
  const auto n = program.size();
  if (n != spec.size * count) return "the program's size";
  Buffer user(layout, count, 0, between(0, 7));
  user.number();
  Bytes expected(static_cast<std::size_t>(n));
  if (type::typemap_pack(spec, count, user.base(), expected.data()) != n) return "the typemap's size";
  const auto step = [&] { return n <= 64 ? 1 : between(1, std::max<std::int64_t>(n / 4, 1)); };

  constexpr std::int64_t guard = 64;
  for (const auto stores : {pack::Stores::cached, pack::Stores::streamed}) {
    const auto at = static_cast<std::size_t>(guard + between(0, 63));
    Bytes packed(at + static_cast<std::size_t>(n + guard), 0xA5);
    program.pack(user.base(), packed.data() + at, 0, n, stores);
    if (!std::equal(expected.begin(), expected.end(), packed.begin() + static_cast<std::ptrdiff_t>(at))) return "pack";
    if (packed[at - 1] != 0xA5 || packed[at + static_cast<std::size_t>(n)] != 0xA5) return "pack wrote outside";

    Bytes pieces(static_cast<std::size_t>(n + 1), 0x5A);
    for (std::int64_t begin = 0; begin < n;) {
      const auto end = std::min(n, begin + step());
      program.pack(user.base(), pieces.data() + begin, begin, end, stores);
      begin = end;
    }
    if (!std::equal(expected.begin(), expected.end(), pieces.begin())) return "pack in pieces";
    if (pieces.back() != 0x5A) return "pack in pieces wrote outside";

    if (overlaps(spec, count)) continue;
    Buffer want(layout, count, 0xC3), got(layout, count, 0xC3), in_pieces(layout, count, 0xC3);
    type::typemap_unpack(spec, count, expected.data(), want.base());
    program.unpack(expected.data(), got.base(), 0, n, stores);
    if (want.bytes != got.bytes) return "unpack";
    for (std::int64_t begin = 0; begin < n;) {
      const auto end = std::min(n, begin + step());
      program.unpack(expected.data() + begin, in_pieces.base(), begin, end, stores);
      begin = end;
    }
    if (want.bytes != in_pieces.bytes) return "unpack in pieces";
  }
  return std::nullopt;
}

}  // namespace dunnage::tests
