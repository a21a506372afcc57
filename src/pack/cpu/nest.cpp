#include "pack/cpu/nest.hpp"

#include <cstdlib>

#include "pack/cpu/moves.hpp"
#include "pack/cpu/prefetch.hpp"

namespace dunnage::pack {
namespace {

constexpr std::int64_t line = 64;

/// Calls f(user, packed) for every iteration of the given loops, outermost first.
template <class F>
void odometer(const Dim* dims, int n, char* user, char* packed, F&& f) {
  if (n == 0) return f(user, packed);
  for (std::int64_t i = 0; i < dims->count; ++i)
    odometer(dims + 1, n - 1, user + i * dims->user, packed + i * dims->packed, f);
}

/// The length of a block, in bytes, from which the lines at its ends, which it fills only in part,
/// do not matter.
template <Direction D>
constexpr std::int64_t long_block = D == Direction::pack ? 512 : 256;

/// Returns whether rows of blocks fill lines, so that they can be stored past the caches. Packed
/// blocks fill lines together, the user's each by itself. `at` is where the first block is stored.
template <Direction D>
bool fills_lines(const Dim* dims, int n, std::int64_t block, const char* at) {
  if (block >= long_block<D>) return true;
  const auto address = reinterpret_cast<std::int64_t>(at);
  if constexpr (D == Direction::pack) {
    // Stores of 16 bytes one after the other fill lines, and so do vectors of every other element.
    const bool every_other = n > 0 && (block == 4 || block == 8) && dims[n - 1].user == 2 * block;
    return (address | block) % 16 == 0 || (every_other && address % block == 0);
  } else {
    auto all = address | block;
    for (int i = 0; i < n; ++i) all |= dims[i].user;
    return all % line == 0;
  }
}

}  // namespace

Prefetch prefetch_of(CacheUse caches, Direction direction, std::int64_t block, std::int64_t stride) {
  if (!caches.far) return Prefetch::none;
  const auto how = prefetch_of(base::this_processor_kind(), direction, block, stride);
  return how == Prefetch::packed && caches.gathers ? Prefetch::second_level : how;
}

Walk choose_walk(const Dim* dims, int n, std::int64_t block) {
  if (n == 0) return {Walk::Kind::copy};
  if (n == 1) return {Walk::Kind::rows};
  // If a loop has a smaller stride in the user's buffer than the innermost loop, it should run
  // inside that one. Otherwise each line is fetched once for each of its blocks. If a block fills
  // its line, nothing is gained.
  const auto& inner = dims[n - 1];
  if (std::llabs(inner.user) < line || block >= line) return {Walk::Kind::rows};
  int across = -1;
  for (int i = 0; i < n - 1; ++i)
    if (std::llabs(dims[i].user) < line && dims[i].count > 1 &&
        (across < 0 || std::llabs(dims[i].user) < std::llabs(dims[across].user)))
      across = i;
  if (across < 0) return {Walk::Kind::rows};
  const bool dense = dims[across].user == block && inner.packed == block;
  if (dense && (block == 4 || block == 8 || block == 16) && inner.count >= 4 && dims[across].count >= 4)
    return {Walk::Kind::transposed, across};
  return {Walk::Kind::tiled, across};
}

bool streams_directly(const Dim* dims, int n, std::int64_t block, const char* packed) {
  const auto kind = choose_walk(dims, n, block).kind;
  const bool in_tiles = kind == Walk::Kind::tiled || kind == Walk::Kind::transposed;  // gathering would undo them
  return in_tiles || fills_lines<Direction::pack>(dims, n, block, packed);
}

template <Direction D>
void run_whole_nest(const Dim* dims, int n, std::int64_t block, char* user, char* packed, CacheUse caches) {
  const auto& k = kernels();
  const auto walk = choose_walk(dims, n, block);
  switch (walk.kind) {
    case Walk::Kind::copy: {
      auto* to = D == Direction::pack ? packed : user;
      const auto* from = D == Direction::pack ? user : packed;
      return caches.streamed && block >= long_block<D> ? k.stream(to, from, block) : copy_some(to, from, block);
    }
    case Walk::Kind::rows: {
      const bool stream = caches.streamed && fills_lines<D>(dims, n, block, D == Direction::pack ? packed : user);
      const Dim once{1, 0, 0};
      const auto& outer = n > 1 ? dims[n - 2] : once;
      const auto& inner = dims[n - 1];
      const auto prefetch = prefetch_of(caches, D, block, inner.user);
      return odometer(dims, n > 1 ? n - 2 : 0, user, packed, [&](char* u, char* p) {
        const Rows rows{u, p, outer, inner, block, prefetch};
        if (stream)
          D == Direction::pack ? k.pack_stream_rows(rows) : k.unpack_stream_rows(rows);
        else
          D == Direction::pack ? k.pack_rows(rows) : k.unpack_rows(rows);
      });
    }
    case Walk::Kind::tiled:
    case Walk::Kind::transposed: {
      Dim outside[32];
      int m = 0;
      for (int i = 0; i < n - 1; ++i)
        if (i != walk.across) outside[m++] = dims[i];
      const auto& across = dims[walk.across];
      const auto& inner = dims[n - 1];
      const auto prefetch = prefetch_of(caches, D, block, inner.user);
      return odometer(outside, m, user, packed, [&](char* u, char* p) {
        if (walk.kind == Walk::Kind::tiled) {
          const Rows rows{u, p, across, inner, block, prefetch};
          return D == Direction::pack ? k.pack_tiles(rows) : k.unpack_tiles(rows);
        }
        if (D == Direction::pack)
          k.transpose({p, u, across.packed, inner.user, inner.count, across.count, block, caches.streamed, caches.far});
        else
          k.transpose({u, p, inner.user, across.packed, across.count, inner.count, block, caches.streamed, caches.far});
      });
    }
  }
}

template void run_whole_nest<Direction::pack>(const Dim*, int, std::int64_t, char*, char*, CacheUse);
template void run_whole_nest<Direction::unpack>(const Dim*, int, std::int64_t, char*, char*, CacheUse);

}  // namespace dunnage::pack
