#include <algorithm>
#include <bit>

#include "pack/cuda/launch.hpp"

namespace dunnage::pack::cuda {
namespace {

using Family = KernelId::Family;

// Rows of at least this many bytes with odd addresses are moved in aligned chunks. With shorter
// rows too many chunks span two rows, and too many chunks are written only in part when unpacking.
constexpr std::int64_t least_row_packed = 32, least_row_unpacked = 256;
constexpr std::int64_t long_row = 2048;  // so few chunks span two rows that those may be slow
// If both sides are contiguous but differ in alignment, a kernel is faster than the copy engine
// from this size on.
constexpr std::int64_t least_shifted_copy = 1 << 20;
// Bytes of a sector, the unit in which the device reads and writes memory. Longer runs gain nothing
// from a transpose.
constexpr std::int64_t sector = 32;
constexpr std::int64_t least_side = 8;  // elements; a shorter side would leave most of a tile empty

/// The shortest row in bytes that is moved in chunks. If rows consist of whole chunks, no chunk
/// spans two rows.
std::int64_t least_row(Direction direction, std::int64_t block) {
  return direction == Direction::unpack ? least_row_unpacked : block % chunk == 0 ? chunk : least_row_packed;
}

std::uint8_t loops_id(std::size_t loops, bool table, bool wide) {
  return static_cast<std::uint8_t>(wide || loops > (table ? 2 : 3) ? 0 : std::max<std::size_t>(loops, 1));
}

/// How many one-word elements can be moved as one unit on both sides of a transpose.
std::uint8_t elements_at_once(const Geometry& g, std::size_t near, int word, std::uint64_t addresses) {
  if (word >= 4 || g.block != word || g.levels[near].stride != word) return 1;
  auto bits = addresses;
  std::int64_t packed = g.block;
  for (std::size_t l = 0; l < g.levels.size(); ++l) {
    if (l != near) bits |= static_cast<std::uint64_t>(g.levels[l].stride);
    if (l != 0) bits |= static_cast<std::uint64_t>(packed);
    packed *= g.levels[l].count;
  }
  return bits % 4 == 0 ? static_cast<std::uint8_t>(4 / word) : 1;
}

}  // namespace

std::uint8_t largest_word(const Geometry& g, std::uint64_t addresses) {
  auto bits = addresses | static_cast<std::uint64_t>(g.block) | 16;
  for (std::size_t l = 0; l < g.levels.size(); ++l)
    bits |= static_cast<std::uint64_t>(static_cast<int>(l) == g.indexed ? g.table_unit : g.levels[l].stride);
  return static_cast<std::uint8_t>(1u << std::countr_zero(bits));
}

std::size_t transposed_level(const Geometry& g) {
  if (g.indexed >= 0 || g.levels.size() < 2 || g.block >= sector || g.levels[0].count < least_side) return 0;
  std::size_t best = 0;
  for (std::size_t l = 1; l < g.levels.size(); ++l)
    if (g.levels[l].count >= least_side && std::abs(g.levels[l].stride) < std::abs(g.levels[best].stride)) best = l;
  return best != 0 && std::abs(g.levels[best].stride) < sector && std::abs(g.levels[0].stride) >= sector ? best : 0;
}

KernelId choose(const Part& part, Direction direction, std::uintptr_t user, std::uintptr_t packed, std::int64_t begin,
                std::int64_t end) {
  KernelId id{Family::none, direction};
  if (!part.nest) {
    id.family = Family::tree;
    return id;
  }
  const auto& g = part.geometry;
  const auto odd = (user + static_cast<std::uintptr_t>(part.offset + begin)) ^ packed;
  if (g.levels.empty() && (odd % 16 == 0 || end - begin < least_shifted_copy)) return id;
  const auto addresses = static_cast<std::uint64_t>(user + static_cast<std::uintptr_t>(part.offset)) | packed;
  id.word = largest_word(g, addresses | static_cast<std::uint64_t>(begin | end));
  const bool whole = begin == 0 && end == part.size;

  if (const auto near = whole ? transposed_level(g) : 0) {
    id.family = g.block == id.word ? Family::tile : Family::parts;
    if (id.family == Family::tile) id.group = elements_at_once(g, near, id.word, addresses);
    return id;
  }
  id.table = g.indexed >= 0;
  if (g.levels.empty() || (id.word < 4 && g.block >= least_row(direction, g.block))) {
    id.family = Family::rows;
    id.word = 0;
    id.group = g.levels.empty() || g.block % chunk == 0 || g.block >= long_row ? 2 : 1;
    id.wide = part.size > most_items;
    id.loops = loops_id(g.levels.size(), id.table, id.wide);
    if (id.table || id.loops > 2) id.loops = 0;
    return id;
  }
  id.family = Family::dense;
  id.wide = part.size / id.word > most_items;
  id.loops = loops_id(g.levels.size() + (g.block > id.word ? 1 : 0), id.table, id.wide);
  // If rows are short and no two of them share a sector, neighbouring threads move neighbouring
  // words, so that one instruction covers all wanted bytes of a sector. Else each thread moves a
  // group of words. When packing, single words pay only for rows of one word. When unpacking, long
  // words are always written one by one.
  const bool apart = g.block < sector && (g.indexed == 0 || std::abs(g.levels[0].stride) >= sector);
  if (direction == Direction::pack ? apart && g.block == id.word && !g.cut : apart || id.word > 2)
    id.group = 1;
  else
    id.group = id.word <= 2 ? 4 : id.word <= 8 ? 2 : 1;
  return id;
}

}  // namespace dunnage::pack::cuda
