#include <algorithm>
#include <array>

#include "pack/cuda/fused_plan.hpp"
#include "pack/cuda/launch.hpp"

namespace dunnage::pack::cuda {
namespace {

using Family = KernelId::Family;

// A part of a struct with at least so many bytes gets a launch of its own. The bound is lower for
// words of 1 or 2 bytes, because a fused launch moves them one by one.
constexpr std::int64_t own_launch = 1 << 20, own_launch_narrow = 64 << 10, own_launch_dense = 8 << 20;

// A thread must move at least so many bytes, because finding a word in two nests takes long.
constexpr std::uint8_t least_moved = 4;

/// A range of one part, with addresses.
struct Piece {
  const Job* job;
  const Part* part;
  std::uintptr_t user;    // the address of the part's first byte
  std::uintptr_t packed;  // the address of byte `begin` of the part
  std::int64_t begin, end;
};

char* pointer(std::uintptr_t address) { return reinterpret_cast<char*>(address); }

template <class Index>
Divisor<Index> divisor(const Level& level) {
  if constexpr (sizeof(Index) == 4)
    return level.by;
  else
    return level.by_wide;
}

template <class Index>
void add_loop(Nest<Index>& nest, std::int64_t count, std::int64_t stride, Divisor<Index> by) {
  nest.loop[nest.loops++] = {static_cast<Index>(count), by, stride};
}

template <class Index>
Nest<Index> nest_of(const Piece& p, std::int64_t word) {
  const auto& g = p.part->geometry;
  Nest<Index> nest;
  nest.user = pointer(p.user);
  if (word && g.block > word) add_loop(nest, g.block / word, word, Divisor<Index>(static_cast<Index>(g.block / word)));
  if (g.indexed >= 0) {
    nest.indexed = nest.loops + g.indexed;
    nest.table = reinterpret_cast<const std::int32_t*>(p.job->constants + p.job->recipe->table_at(g.table));
    nest.table_unit = g.table_unit;
  }
  for (const auto& level : g.levels) add_loop(nest, level.count, level.stride, divisor<Index>(level));
  if (nest.loops == 0) add_loop(nest, 1, 0, Divisor<Index>());
  return nest;
}

std::uint64_t blocks_for(std::uint64_t threads) { return (threads + block_threads - 1) / block_threads; }

template <class Index>
Dense<Index> dense_of(const Piece& p, int word, int group) {
  Dense<Index> a;
  a.nest = nest_of<Index>(p, word);
  a.packed = pointer(p.packed);
  a.first = static_cast<Index>(p.begin / word);
  a.words = static_cast<Index>((p.end - p.begin) / word);
  a.lead = static_cast<Index>(p.packed % static_cast<std::uintptr_t>(word * group) / static_cast<std::uintptr_t>(word));
  return a;
}
template <class Index>
std::uint64_t groups_of(const Dense<Index>& a, int group) {
  return (std::uint64_t{a.lead} + a.words + static_cast<std::uint64_t>(group) - 1) / static_cast<std::uint64_t>(group);
}

template <class Index>
void make_dense(Launch& launch, const Piece& p) {
  const auto a = dense_of<Index>(p, launch.id.word, launch.id.group);
  launch.blocks = blocks_for(groups_of(a, launch.id.group));
  launch.parameters = a;
}

template <class Index>
void make_rows(Launch& launch, const Piece& p) {
  Rows<Index> a;
  const auto& part = *p.part;
  const auto block = part.geometry.block;
  a.nest = nest_of<Index>(p, 0);
  a.packed = pointer(p.packed);
  a.block = static_cast<Index>(block);
  a.by_block = Divisor<Index>(a.block);
  a.first = static_cast<Index>(p.begin);
  a.bytes = static_cast<Index>(p.end - p.begin);
  if (launch.id.direction == Direction::pack) {
    a.lead = static_cast<Index>(p.packed % chunk);
    a.low = pointer(p.user + static_cast<std::uintptr_t>(part.low - part.offset));
    a.high = pointer(p.user + static_cast<std::uintptr_t>(part.high - part.offset));
    launch.blocks = blocks_for((std::uint64_t{a.lead} + a.bytes + chunk - 1) / chunk);
  } else {
    a.first_block = static_cast<Index>(p.begin / block);
    a.slots = static_cast<Index>((block + 2 * chunk - 2) / chunk);
    a.by_slots = Divisor<Index>(a.slots);
    a.low = a.packed;
    a.high = a.packed + (p.end - p.begin);
    const auto rows = (p.end + block - 1) / block - p.begin / block;
    launch.blocks = blocks_for(static_cast<std::uint64_t>(rows) * a.slots);
  }
  launch.parameters = a;
}

void make_tile(Launch& launch, const Piece& p) {
  const auto& g = p.part->geometry;
  Tiled a;
  a.user = pointer(p.user);
  a.packed = pointer(p.packed);
  a.parts = static_cast<std::uint32_t>(g.block / launch.id.word);
  a.by_parts = Divisor<std::uint32_t>(a.parts);
  const auto near = transposed_level(g);
  auto packed = g.block;
  for (std::size_t l = 0; l < g.levels.size(); ++l) {
    const auto count = static_cast<std::uint64_t>(g.levels[l].count);
    const Axis axis{count, g.levels[l].by_wide, g.levels[l].stride, packed};
    packed *= g.levels[l].count;
    (l == 0 ? a.near_packed : l == near ? a.near_user : a.loop[a.loops++]) = axis;
  }
  const auto word = launch.id.word;
  const bool one = launch.id.family == Family::tile;
  const std::uint32_t side = !one        ? parts_side
                             : word == 1 ? tile_side<1>()
                             : word == 2 ? tile_side<2>()
                             : word == 4 ? tile_side<4>()
                             : word == 8 ? tile_side<8>()
                                         : tile_side<16>();
  const std::uint32_t line = side * (one ? 1 : a.parts) * word;
  launch.shared = side * (line + (word < 4 ? 4 : word));
  a.tiles_packed = (a.near_packed.count + side - 1) / side;
  a.tiles_user = (a.near_user.count + side - 1) / side;
  a.by_tiles_packed = Divisor<std::uint64_t>(a.tiles_packed);
  a.by_tiles_user = Divisor<std::uint64_t>(a.tiles_user);
  launch.blocks = a.tiles_packed * a.tiles_user;
  for (int l = 0; l < a.loops; ++l) launch.blocks *= a.loop[l].count;
  launch.parameters = a;
}

void make_tree(Launch& launch, const Piece& p) {
  Tree a;
  const auto& part = *p.part;
  a.root = reinterpret_cast<const TreeNode*>(p.job->constants + p.job->recipe->node_at(part.root));
  a.user = pointer(p.user);
  a.packed = pointer(p.packed);
  a.first = p.begin;
  a.bytes = p.end - p.begin;
  a.lead = static_cast<std::int64_t>(p.packed % chunk);
  a.low = pointer(p.user + static_cast<std::uintptr_t>(part.low - part.offset));
  a.high = pointer(p.user + static_cast<std::uintptr_t>(part.high - part.offset));
  launch.blocks = blocks_for(static_cast<std::uint64_t>((a.lead + a.bytes + chunk - 1) / chunk));
  launch.parameters = a;
}

template <class Index>
void make_move(Launch& launch, const Piece& from, const Piece& to) {
  Move<Index> a;
  a.from = nest_of<Index>(from, launch.id.word);
  a.to = nest_of<Index>(to, launch.id.word);
  a.first = static_cast<Index>(from.begin / launch.id.word);
  a.words = static_cast<Index>(launch.bytes / launch.id.word);
  launch.id.loops =
      static_cast<std::uint8_t>(!launch.id.wide && a.from.loops == a.to.loops && a.from.loops <= 3 ? a.from.loops : 0);
  launch.blocks = blocks_for(a.words);
  launch.parameters = a;
}

/// Whether data of this recipe can be moved word by word: a nest without a table that is not a
/// transpose.
bool movable(const Recipe& recipe) {
  if (recipe.parts().size() != 1 || !recipe.parts()[0].nest) return false;
  const auto& g = recipe.parts()[0].geometry;
  return g.indexed < 0 && transposed_level(g) == 0;
}

Launch single(const Piece& p, const KernelId& id) {
  Launch launch;
  launch.id = id;
  launch.bytes = p.end - p.begin;
  switch (id.family) {
    case Family::none:
      launch.parameters = Copy{p.user + static_cast<std::uintptr_t>(p.begin), p.packed, p.end - p.begin};
      break;
    case Family::dense: id.wide ? make_dense<std::uint64_t>(launch, p) : make_dense<std::uint32_t>(launch, p); break;
    case Family::rows: id.wide ? make_rows<std::uint64_t>(launch, p) : make_rows<std::uint32_t>(launch, p); break;
    case Family::tile:
    case Family::parts: make_tile(launch, p); break;
    case Family::tree: make_tree(launch, p); break;
    case Family::fused:
    case Family::move:
    case Family::reduce: break;
  }
  return launch;
}

/// The size of the words in which a fused launch moves a piece, in bytes.
std::uint8_t fused_word(const Piece& p) {
  return largest_word(p.part->geometry, p.user | p.packed | static_cast<std::uintptr_t>(p.begin | p.end));
}

/// Whether a fused launch can take a piece.
bool fits_fused(const Piece& p, std::uint8_t word) {
  return fits_fused(*p.part, word) && p.end - p.begin < own_launch_dense;
}

FusedEntry fused_entry_of(const Piece& p, std::uint8_t word) {
  const auto words = static_cast<std::uint32_t>((p.end - p.begin) / word);
  return {words, word, fused_nest(*p.part, p.user, p.begin, word), pointer(p.packed)};
}

template <int N>
using FusedEntries = Fused<N, FusedEntry>;

Launch fused(Direction direction, std::span<const Piece> pieces) {
  // Measured on an H200 that packs its own data (docs/measurements, "One word for each thread").
  constexpr std::uint64_t most_single = 1 << 17;
  return fused_launch<FusedEntries>({Family::fused, direction}, most_single, pieces,
                                    [](const Piece& p) { return fused_entry_of(p, fused_word(p)); });
}

}  // namespace

void* Launch::address() {
  return std::visit(
      []<class P>(P& p) -> void* {
        if constexpr (requires { p.get(); })
          return p.get();
        else
          return &p;
      },
      parameters);
}

std::size_t Launch::size() const {
  return std::visit(
      []<class P>(const P& p) {
        if constexpr (requires { p.get(); })
          return sizeof *p;
        else
          return sizeof p;
      },
      parameters);
}

Launch plan_one(Direction direction, const Job& job) {
  const auto& part = job.recipe->parts()[0];
  const Piece p{&job, &part, job.user + static_cast<std::uintptr_t>(part.offset), job.packed, job.begin, job.end};
  return single(p, choose(part, direction, job.user, p.packed, p.begin, p.end));
}

std::optional<Launch> plan_move(const Recipe& from_recipe, std::uintptr_t from, const Recipe& to_recipe,
                                std::uintptr_t to, std::int64_t begin, std::int64_t end) {
  if (!movable(from_recipe) || !movable(to_recipe)) return std::nullopt;
  const auto piece = [&](const Recipe& recipe, std::uintptr_t user) {
    const auto& part = recipe.parts()[0];
    return Piece{nullptr, &part, user + static_cast<std::uintptr_t>(part.offset), 0, begin, end};
  };
  const auto a = piece(from_recipe, from), b = piece(to_recipe, to);
  const auto word_of = [&](const Piece& p) {
    return largest_word(p.part->geometry, p.user | static_cast<std::uintptr_t>(begin | end));
  };
  const auto word = std::min(word_of(a), word_of(b));
  if (word < least_moved) return std::nullopt;
  Launch launch;
  launch.id.family = Family::move;
  launch.id.word = word;
  launch.id.wide = std::max(from_recipe.size(), to_recipe.size()) / word >
                   most_items;  // the receiver's buffer may be larger than the message
  launch.bytes = end - begin;
  launch.id.wide ? make_move<std::uint64_t>(launch, a, b) : make_move<std::uint32_t>(launch, a, b);
  return launch;
}

std::vector<Launch> plan(Direction direction, std::span<const Job> jobs) {
  std::vector<Launch> launches;
  std::vector<Piece> shared;
  for (const auto& job : jobs) {
    for (const auto& part : job.recipe->parts()) {
      const auto begin = std::max(job.begin, part.begin), end = std::min(job.end, part.begin + part.size);
      if (begin >= end) continue;
      const Piece p{&job,
                    &part,
                    job.user + static_cast<std::uintptr_t>(part.offset),
                    job.packed + static_cast<std::uintptr_t>(begin - job.begin),
                    begin - part.begin,
                    end - part.begin};
      const auto word = fused_word(p);
      const bool fits = fits_fused(p, word);
      if (fits && end - begin < (word < 4 ? own_launch_narrow : own_launch)) {
        shared.push_back(p);
        continue;
      }
      const auto id = choose(part, direction, job.user, p.packed, p.begin, p.end);
      // A kernel finishes a short copy in half the time that the copy engine needs to start it.
      const bool short_copy = id.family == Family::none && word == 16 && jobs.size() > 1;
      if ((fits && word >= 4 && id.family == Family::dense) || (short_copy && fits))
        shared.push_back(p);
      else
        launches.push_back(single(p, id));
    }
  }
  if (shared.size() == 1) {
    const auto& p = shared[0];
    launches.push_back(single(p, choose(*p.part, direction, p.job->user, p.packed, p.begin, p.end)));
  } else {
    std::sort(shared.begin(), shared.end(),
              [](const Piece& a, const Piece& b) { return a.end - a.begin > b.end - b.begin; });
    for (std::size_t i = 0; i < shared.size(); i += max_fused)
      launches.push_back(
          fused(direction, std::span(shared).subspan(i, std::min<std::size_t>(max_fused, shared.size() - i))));
  }
  return launches;
}

}  // namespace dunnage::pack::cuda
