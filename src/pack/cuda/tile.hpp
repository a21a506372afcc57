// The kernels for a transpose. In a transpose, neighbours in the packed stream are far apart in the
// user's buffer, and the elements of another loop are neighbours there. A tile of both loops goes
// through shared memory. It is read along one loop and written along the other, so that accesses to
// both sides are coalesced.
#pragma once

#include "pack/cuda/nest.hpp"

namespace dunnage::pack::cuda {

/// A loop with its strides in the user's buffer and in the packed stream, in bytes.
struct Axis {
  std::uint64_t count = 1;
  Divisor<std::uint64_t> by;
  std::int64_t user = 0, packed = 0;
};

/// A transpose of elements that have `parts` words of W bytes. Tiles cover two loops: `near_packed`
/// is the innermost loop of the packed stream, and `near_user` has the shortest stride in the
/// user's buffer.
struct Tiled {
  char* user = nullptr;
  char* packed = nullptr;
  Axis near_packed, near_user;
  std::uint64_t tiles_packed = 0, tiles_user = 0;  // how many tiles along each of them
  Divisor<std::uint64_t> by_tiles_packed, by_tiles_user;
  std::uint32_t parts = 1;
  Divisor<std::uint32_t> by_parts;
  std::int32_t loops = 0;
  Axis loop[max_loops];  // the other loops, innermost first
};

/// The side of a tile in elements, for elements of one word.
template <int W>
DUNNAGE_HD constexpr std::uint32_t tile_side() {
  return W == 1 ? 128 : W <= 4 ? 64 : 32;
}
/// Bytes of a line of the tile in shared memory. The padding makes neighbouring lines begin in
/// different banks.
template <int W>
DUNNAGE_HD constexpr std::uint32_t tile_pitch() {
  return tile_side<W>() * W + (W < 4 ? 4 : W);
}

/// Where the tile of a block begins, and how many elements it has. `side` is in elements.
struct TileAt {
  char *user, *packed;
  std::uint32_t count_packed, count_user;  // elements
};
DUNNAGE_HD TileAt tile_at(const Tiled& a, std::uint64_t block, std::uint64_t side) {
  auto rest = a.by_tiles_user.quotient(block);
  const auto at_user = (block - rest * a.tiles_user) * side;
  auto next = a.by_tiles_packed.quotient(rest);
  const auto at_packed = (rest - next * a.tiles_packed) * side;
  auto user =
      static_cast<std::int64_t>(at_packed) * a.near_packed.user + static_cast<std::int64_t>(at_user) * a.near_user.user;
  auto packed = static_cast<std::int64_t>(at_packed) * a.near_packed.packed +
                static_cast<std::int64_t>(at_user) * a.near_user.packed;
  for (int l = 0; l < a.loops; ++l) {
    const auto after = a.loop[l].by.quotient(next);
    const auto c = static_cast<std::int64_t>(next - after * a.loop[l].count);
    user += c * a.loop[l].user;
    packed += c * a.loop[l].packed;
    next = after;
  }
  const auto left_packed = a.near_packed.count - at_packed, left_user = a.near_user.count - at_user;
  return {a.user + user, a.packed + packed, static_cast<std::uint32_t>(left_packed < side ? left_packed : side),
          static_cast<std::uint32_t>(left_user < side ? left_user : side)};
}

// Elements of one word. M neighbouring elements are moved as one; M is 1 or 4 / W. A thread
// transposes M by M elements in registers. In shared memory, line u holds elements that are
// neighbours in the packed stream.

/// Transposes M words of M elements each.
template <int W, int M>
DUNNAGE_HD void turn(Word<W * M> (&x)[M]) {
  if constexpr (M > 1) {
    Word<W> e[M][M]{};
    DUNNAGE_UNROLL
    for (int i = 0; i < M; ++i) split<W, M>(x[i], e[i]);
    DUNNAGE_UNROLL
    for (int i = 0; i < M; ++i) {
      Word<W> line[M]{};
      DUNNAGE_UNROLL
      for (int j = 0; j < M; ++j) line[j] = e[j][i];
      x[i] = join<W, M>(line);
    }
  }
}

/// Threads of a block.
inline constexpr std::uint32_t tile_threads = 256;

/// The square of M by M elements that a thread moves between the user's buffer and the tile. 32
/// threads cover 32 / M squares along near_user and M along near_packed, so that all of them use
/// different banks.
struct Square {
  std::uint32_t u, p;
};
template <int W, int M>
DUNNAGE_HD Square square(std::uint32_t i) {
  constexpr std::uint32_t n = tile_side<W>() / M, across = 32 / M;
  const auto lane = i % 32, group = i / 32;
  return {(group % (n / across) * across + lane % across) * M, (group / (n / across) * M + lane / across) * M};
}

/// Copies from the user's buffer to the tile. All loads are started before the first one is waited
/// for.
template <int W, int M>
DUNNAGE_HD void user_to_tile(const Tiled& a, const TileAt& t, char* tile, std::uint32_t thread) {
  constexpr std::uint32_t n = tile_side<W>() / M, pitch = tile_pitch<W>(), turns = n * n / tile_threads;
  Word<W * M> x[turns][M]{};
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto [u, p] = square<W, M>(thread + k * tile_threads);
    const auto* user =
        t.user + static_cast<std::int64_t>(p) * a.near_packed.user + static_cast<std::int64_t>(u) * a.near_user.user;
    DUNNAGE_UNROLL
    for (int m = 0; m < M; ++m) {
      if (p + m >= t.count_packed || u >= t.count_user) continue;
      if (M == 1 || u + M <= t.count_user) {
        x[k][m] = load<W * M>(user + m * a.near_packed.user);
      } else {
        Word<W> one[M]{};
        DUNNAGE_UNROLL
        for (int j = 0; j < M; ++j)
          if (u + j < t.count_user) one[j] = load<W>(user + m * a.near_packed.user + j * W);
        x[k][m] = join<W, M>(one);
      }
    }
  }
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto [u, p] = square<W, M>(thread + k * tile_threads);
    turn<W, M>(x[k]);
    DUNNAGE_UNROLL
    for (int m = 0; m < M; ++m) store<W * M>(tile + (u + m) * pitch + p * W, x[k][m]);
  }
}

template <int W, int M>
DUNNAGE_HD void tile_to_user(const Tiled& a, const TileAt& t, const char* tile, std::uint32_t thread) {
  constexpr std::uint32_t n = tile_side<W>() / M, pitch = tile_pitch<W>(), turns = n * n / tile_threads;
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto [u, p] = square<W, M>(thread + k * tile_threads);
    auto* user =
        t.user + static_cast<std::int64_t>(p) * a.near_packed.user + static_cast<std::int64_t>(u) * a.near_user.user;
    Word<W * M> x[M]{};
    DUNNAGE_UNROLL
    for (int m = 0; m < M; ++m) x[m] = load<W * M>(tile + (u + m) * pitch + p * W);
    turn<W, M>(x);
    DUNNAGE_UNROLL
    for (int m = 0; m < M; ++m) {
      if (p + m >= t.count_packed || u >= t.count_user) continue;
      if (M == 1 || u + M <= t.count_user) {
        store<W * M>(user + m * a.near_packed.user, x[m]);
      } else {
        Word<W> one[M]{};
        split<W, M>(x[m], one);
        DUNNAGE_UNROLL
        for (int j = 0; j < M; ++j)
          if (u + j < t.count_user) store<W>(user + m * a.near_packed.user + j * W, one[j]);
      }
    }
  }
}

/// Copies between the tile and the packed stream. Neighbouring threads are neighbours along
/// near_packed.
template <int W, int M>
DUNNAGE_HD void tile_to_packed(const Tiled& a, const TileAt& t, const char* tile, std::uint32_t thread) {
  constexpr std::uint32_t side = tile_side<W>(), n = side / M, pitch = tile_pitch<W>(), turns = side * n / tile_threads;
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto i = thread + k * tile_threads, u = i / n, p = i % n * M;
    if (u >= t.count_user || p >= t.count_packed) continue;
    auto* packed = t.packed + static_cast<std::int64_t>(u) * a.near_user.packed + p * W;
    const auto* shared = tile + u * pitch + p * W;
    if (M == 1 || p + M <= t.count_packed) {
      store<W * M>(packed, load<W * M>(shared));
    } else {
      for (std::uint32_t j = 0; p + j < t.count_packed; ++j) store<W>(packed + j * W, load<W>(shared + j * W));
    }
  }
}

template <int W, int M>
DUNNAGE_HD void packed_to_tile(const Tiled& a, const TileAt& t, char* tile, std::uint32_t thread) {
  constexpr std::uint32_t side = tile_side<W>(), n = side / M, pitch = tile_pitch<W>(), turns = side * n / tile_threads;
  Word<W * M> x[turns]{};
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto i = thread + k * tile_threads, u = i / n, p = i % n * M;
    if (u >= t.count_user || p >= t.count_packed) continue;
    const auto* packed = t.packed + static_cast<std::int64_t>(u) * a.near_user.packed + p * W;
    if (M == 1 || p + M <= t.count_packed) {
      x[k] = load<W * M>(packed);
    } else {
      Word<W> one[M]{};
      DUNNAGE_UNROLL
      for (int j = 0; j < M; ++j)
        if (p + j < t.count_packed) one[j] = load<W>(packed + j * W);
      x[k] = join<W, M>(one);
    }
  }
  DUNNAGE_UNROLL
  for (std::uint32_t k = 0; k < turns; ++k) {
    const auto i = thread + k * tile_threads, u = i / n, p = i % n * M;
    store<W * M>(tile + u * pitch + p * W, x[k]);
  }
}

// Elements of several words. In shared memory, line p holds elements that are neighbours in the
// user's buffer.

inline constexpr std::uint32_t parts_side = 32;  // elements
/// Bytes of a line of the tile in shared memory.
template <int W>
DUNNAGE_HD std::uint32_t parts_pitch(std::uint32_t parts) {
  return parts_side * parts * W + (W < 4 ? 4 : W);
}

/// Copies between the user's buffer and the tile. Each group of 32 threads has every eighth line;
/// its threads are neighbours along near_user.
template <int W, bool Load>
DUNNAGE_HD void parts_user(const Tiled& a, const TileAt& t, char* tile, std::uint32_t thread) {
  constexpr std::uint32_t groups = tile_threads / 32, lines = parts_side / groups;
  const auto pitch = parts_pitch<W>(a.parts), group = thread / 32;
  for (auto x = thread % 32; x < parts_side * a.parts; x += 32) {
    const auto u = a.by_parts.quotient(x), part = x - u * a.parts;
    auto* user = t.user + static_cast<std::int64_t>(u) * a.near_user.user + part * W;
    Word<W> words[lines]{};
    DUNNAGE_UNROLL
    for (std::uint32_t k = 0; k < lines; ++k) {
      const auto p = group + k * groups;
      if (p >= t.count_packed || u >= t.count_user) continue;
      words[k] = load<W>(Load ? user + static_cast<std::int64_t>(p) * a.near_packed.user : tile + p * pitch + x * W);
    }
    DUNNAGE_UNROLL
    for (std::uint32_t k = 0; k < lines; ++k) {
      const auto p = group + k * groups;
      if (p >= t.count_packed || u >= t.count_user) continue;
      store<W>(Load ? tile + p * pitch + x * W : user + static_cast<std::int64_t>(p) * a.near_packed.user, words[k]);
    }
  }
}

/// Copies between the tile and the packed stream. Neighbouring threads are neighbours along
/// near_packed.
template <int W, bool Store>
DUNNAGE_HD void parts_packed(const Tiled& a, const TileAt& t, char* tile, std::uint32_t thread) {
  constexpr std::uint32_t groups = tile_threads / 32, lines = parts_side / groups;
  const auto pitch = parts_pitch<W>(a.parts), group = thread / 32;
  for (auto x = thread % 32; x < parts_side * a.parts; x += 32) {
    const auto p = a.by_parts.quotient(x), part = x - p * a.parts;
    auto* packed = t.packed + x * W;
    Word<W> words[lines]{};
    DUNNAGE_UNROLL
    for (std::uint32_t k = 0; k < lines; ++k) {
      const auto u = group + k * groups;
      if (p >= t.count_packed || u >= t.count_user) continue;
      words[k] = load<W>(Store ? tile + p * pitch + (u * a.parts + part) * W
                               : packed + static_cast<std::int64_t>(u) * a.near_user.packed);
    }
    DUNNAGE_UNROLL
    for (std::uint32_t k = 0; k < lines; ++k) {
      const auto u = group + k * groups;
      if (p >= t.count_packed || u >= t.count_user) continue;
      store<W>(Store ? packed + static_cast<std::int64_t>(u) * a.near_user.packed
                     : tile + p * pitch + (u * a.parts + part) * W,
               words[k]);
    }
  }
}

}  // namespace dunnage::pack::cuda
