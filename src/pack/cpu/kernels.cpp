#include "pack/cpu/kernels.hpp"

#include "pack/cpu/moves.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pack/cpu/kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace dunnage::pack {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t line = 64;

constexpr std::int64_t lines_ahead = 64;  // how far ahead of a copy memory is prefetched

// So many lines are prefetched at once, and copied at once. On an AMD EPYC (Zen 4) blocks of 512
// bytes are packed a quarter faster so than with one prefetch before each line.
constexpr std::int64_t batch_lines = 32;

/// Prefetches a line into the second-level cache, which can have more lines under way than the
/// first.
inline void prefetch(const char* p) { __builtin_prefetch(p, 0, 2); }
/// Prefetches a line into the first-level cache.
inline void prefetch_near(const char* p) { __builtin_prefetch(p, 0, 3); }
/// Prefetches a line into the first-level cache that will be written.
inline void prefetch_to_write(const char* p) {
#if defined(__x86_64__)
  // The compiler takes this instruction only if the processor that it compiles for has it. Those
  // that lack it do nothing.
  asm volatile("prefetchw %0" : : "m"(*p));
#else
  __builtin_prefetch(p, 1, 3);
#endif
}

/// Returns the lines that a block of so many bytes fills.
inline std::int64_t lines_of(std::int64_t block) { return (block + line - 1) / line; }

/// Prefetches n blocks.
inline void prefetch_blocks(const char* p, std::int64_t n, std::int64_t block, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i, p += stride)
    for (std::int64_t k = 0; k < block; k += line) prefetch(p + k);
}

/// Returns how far ahead of a block, in bytes, the user's memory is to be prefetched. If the inner
/// loop is short, that is some iterations of the outer one.
inline std::int64_t fetched_ahead(const Rows& r) {
  const auto blocks = std::max<std::int64_t>(lines_ahead / lines_of(r.block), 1);
  if (r.outer.count == 1 || r.inner.count >= 2 * blocks) return blocks * r.inner.user;
  return std::max<std::int64_t>(blocks / r.inner.count, 1) * r.outer.user;
}

template <Direction D, std::int64_t N>
inline void move(char* user, char* packed) {
  if constexpr (D == Direction::pack)
    copy_fixed<N>(packed, user);
  else
    copy_fixed<N>(user, packed);
}

/// Copies n > 64 bytes in whole vectors. The last vector overlaps the one before it.
inline void copy_vectors(char* __restrict to, const char* __restrict from, std::int64_t n) {
  // Above this length the C library's copy is at least as good, because it uses the processor's
  // string instructions.
  constexpr std::int64_t library = HWY_TARGET == HWY_SCALAR ? 0 : 1024;
  if (n > library) {
    std::memcpy(to, from, static_cast<std::size_t>(n));
    return;
  }
  const hn::CappedTag<std::uint8_t, 64> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto load = [=](std::int64_t i)
                        HWY_ATTR { return hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i)); };
  const auto store = [=](auto v, std::int64_t i)
                         HWY_ATTR { hn::StoreU(v, d, reinterpret_cast<std::uint8_t*>(to + i)); };
  // Short blocks: no loop, and all loads before the first store.
  if (n <= 2 * lanes) {
    const auto first = load(0), last = load(n - lanes);
    store(first, 0);
    return store(last, n - lanes);
  }
  if (n <= 4 * lanes) {
    const auto a = load(0), b = load(lanes), c = load(n - 2 * lanes), e = load(n - lanes);
    store(a, 0);
    store(b, lanes);
    store(c, n - 2 * lanes);
    return store(e, n - lanes);
  }
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    store(load(i), i);
    store(load(i + lanes), i + lanes);
    store(load(i + 2 * lanes), i + 2 * lanes);
    store(load(i + 3 * lanes), i + 3 * lanes);
  }
  for (; i + lanes <= n; i += lanes) store(load(i), i);
  if (i < n) store(load(n - lanes), n - lanes);
}

template <Direction D>
inline void move_some(char* user, char* packed, std::int64_t n) {
  auto* to = D == Direction::pack ? packed : user;
  const auto* from = D == Direction::pack ? user : packed;
  if (n > 64)
    copy_vectors(to, from, n);
  else
    copy_some(to, from, n);
}

/// Calls f with the block length as a compile-time constant if the length is a common one, else
/// with 0.
template <class F>
inline void with_length(std::int64_t length, F&& f) {
  switch (length) {
#define DUNNAGE_LENGTH(N) \
  case N: return f(std::integral_constant<std::int64_t, N>())
    DUNNAGE_LENGTH(1);
    DUNNAGE_LENGTH(2);
    DUNNAGE_LENGTH(3);
    DUNNAGE_LENGTH(4);
    DUNNAGE_LENGTH(6);
    DUNNAGE_LENGTH(8);
    DUNNAGE_LENGTH(12);
    DUNNAGE_LENGTH(16);
    DUNNAGE_LENGTH(20);
    DUNNAGE_LENGTH(24);
    DUNNAGE_LENGTH(28);
    DUNNAGE_LENGTH(32);
    DUNNAGE_LENGTH(36);
    DUNNAGE_LENGTH(40);
    DUNNAGE_LENGTH(48);
    DUNNAGE_LENGTH(56);
    DUNNAGE_LENGTH(64);
#undef DUNNAGE_LENGTH
    default: return f(std::integral_constant<std::int64_t, 0>());
  }
}

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// vectors of 32 bytes or more, and masked stores that do not touch masked-out lanes
#define DUNNAGE_WIDE 1
#else
#define DUNNAGE_WIDE 0
#endif

/// Copies every other element of 4 or 8 bytes, with one shuffle for each vector. Returns the number
/// of elements that it copied. Unpacking must not touch the elements between, so it needs masked
/// stores. If `streamed`, vectors are stored past the caches, and `packed` must begin a line.
template <Direction D, class T, bool streamed = false>
inline std::int64_t every_other([[maybe_unused]] char* user, [[maybe_unused]] char* packed,
                                [[maybe_unused]] std::int64_t n) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto* u = reinterpret_cast<T*>(user);
  auto* p = reinterpret_cast<T*>(packed);
  if constexpr (D == Direction::pack) {
    // The last vector would read the gap behind the last element, so it is left to the caller.
    for (; i + lanes < n; i += lanes) {
      const auto v = hn::ConcatEven(d, hn::LoadU(d, u + 2 * i + lanes), hn::LoadU(d, u + 2 * i));
      if constexpr (streamed)
        hn::Stream(v, d, p + i);
      else
        hn::StoreU(v, d, p + i);
    }
  } else if constexpr (DUNNAGE_WIDE) {
    const auto iota = hn::Iota(d, 0);
    const auto even = hn::Eq(hn::And(iota, hn::Set(d, T{1})), hn::Zero(d));
    const auto half = hn::ShiftRight<1>(iota);
    const auto lower = hn::IndicesFromVec(d, half);
    const auto upper = hn::IndicesFromVec(d, hn::Add(half, hn::Set(d, static_cast<T>(lanes / 2))));
    // A masked store does not fetch its line early. This makes cold calls 1.4 times as fast on a
    // Xeon and on an EPYC (Zen 5), and costs nothing if the lines are cached.
    constexpr std::int64_t ahead = 2048;
    for (; i + lanes < n; i += lanes) {
      auto* lines = reinterpret_cast<const char*>(u + 2 * i) + ahead;
      for (std::int64_t k = 0; k < 2 * lanes * static_cast<std::int64_t>(sizeof(T)); k += line)
        prefetch_near(lines + k);
      const auto v = hn::LoadU(d, p + i);
      hn::BlendedStore(hn::TableLookupLanes(v, lower), even, d, u + 2 * i);
      hn::BlendedStore(hn::TableLookupLanes(v, upper), even, d, u + 2 * i + lanes);
    }
  }
#endif
  return i;
}

/// Copies the blocks of one loop. The user's memory is prefetched `ahead` bytes ahead.
template <Direction D, std::int64_t N>
inline void row(char* user, char* packed, const Dim& dim, std::int64_t block, Prefetch how, std::int64_t ahead) {
  auto n = dim.count;
  const auto su = dim.user, sp = dim.packed;
  if constexpr (N == 4 || N == 8) {
    if (su == 2 * N && sp == N) {
      using T = std::conditional_t<N == 4, std::uint32_t, std::uint64_t>;
      const auto done = every_other<D, T>(user, packed, n);
      user += done * su;
      packed += done * sp;
      n -= done;
    }
  }
  const auto length = N ? N : block;
  const auto one = [block](char* u, char* p) HWY_ATTR {
    if constexpr (N != 0)
      move<D, N>(u, p);
    else
      move_some<D>(u, p, block);
  };
  if (how == Prefetch::packed) {
    constexpr std::int64_t ahead_of_store = 1024;
    for (; n > 0; --n, user += su, packed += sp) {
      for (std::int64_t k = 0; k < length; k += line) prefetch_to_write(packed + ahead_of_store + k);
      one(user, packed);
    }
    return;
  }
  if (how != Prefetch::none) {
    const auto batch = how == Prefetch::batches ? lines_ahead : 1;
    while (n > 0) {
      const auto some = std::min(n, batch);
      // From the last block to the first: the other order was slower on an AMD EPYC (Zen 4).
      for (auto i = some; i-- > 0;)
        for (std::int64_t k = 0; k < length; k += line) {
          const auto* at = user + ahead + i * su + k;
          how == Prefetch::first_level ? prefetch_near(at) : prefetch(at);
        }
      for (std::int64_t i = 0; i < some; ++i, user += su, packed += sp) one(user, packed);
      n -= some;
    }
    return;
  }
  if constexpr (N != 0) {
    for (; n >= 4; n -= 4) {
      move<D, N>(user, packed);
      move<D, N>(user + su, packed + sp);
      move<D, N>(user + 2 * su, packed + 2 * sp);
      move<D, N>(user + 3 * su, packed + 3 * sp);
      user += 4 * su;
      packed += 4 * sp;
    }
  }
  for (; n > 0; --n, user += su, packed += sp) one(user, packed);
}

template <Direction D>
void rows(const Rows& r) {
  const auto ahead = r.prefetch == Prefetch::none ? 0 : fetched_ahead(r);
  with_length(r.block, [&](auto n) HWY_ATTR {
    for (std::int64_t j = 0; j < r.outer.count; ++j)
      row<D, n()>(r.user + j * r.outer.user, r.packed + j * r.outer.packed, r.inner, r.block, r.prefetch, ahead);
  });
}

/// Interchanges the two loops in square tiles, so that each line on either side is used up while it
/// is cached.
template <Direction D>
void tiles(const Rows& r) {
  constexpr std::int64_t side = 32;
  const auto ahead = r.prefetch == Prefetch::none ? 0 : fetched_ahead(r);
  with_length(r.block, [&](auto n) HWY_ATTR {
    for (std::int64_t j = 0; j < r.outer.count; j += side) {
      const auto width = std::min(side, r.outer.count - j);
      for (std::int64_t i = 0; i < r.inner.count; i += side) {
        const auto height = std::min(side, r.inner.count - i);
        for (std::int64_t b = j; b < j + width; ++b)
          row<D, n()>(r.user + b * r.outer.user + i * r.inner.user, r.packed + b * r.outer.packed + i * r.inner.packed,
                      {height, r.inner.user, r.inner.packed}, r.block, r.prefetch, ahead);
      }
    }
  });
}

#if DUNNAGE_WIDE
/// Copies whole vectors of 4- or 8-byte elements with the gather instruction. Returns the number of
/// elements that it copied.
template <class T, class Offset>
inline std::int64_t gather(const Units<Offset>& u) {
  const hn::ScalableTag<T> d;
  using Index = hwy::MakeSigned<T>;
  const hn::Rebind<Index, decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= u.count; i += lanes) {
    const auto index = [&]() HWY_ATTR {
      if constexpr (sizeof(Offset) == sizeof(Index)) {
        return hn::LoadU(di, reinterpret_cast<const Index*>(u.offsets + i));
      } else {
        const hn::Rebind<std::int32_t, decltype(di)> narrow;
        return hn::PromoteTo(di, hn::LoadU(narrow, u.offsets + i));
      }
    }();
    hn::StoreU(hn::GatherOffset(d, reinterpret_cast<const T*>(u.user), index), d, reinterpret_cast<T*>(u.packed) + i);
  }
  return i;
}
#endif

// The arguments are values and not references to Units. A store of bytes may alias anything that
// has an address, so the compiler would read a referenced argument again after each store.
template <Direction D, std::int64_t N, class Offset>
inline void unit_loop(char* user, char* packed, const Offset* offsets, std::int64_t count, std::int64_t length,
                      bool far) {
  constexpr std::int64_t ahead = 64;
  const auto step = N ? N : length;
  const auto one = [=](std::int64_t i) {
    if constexpr (N != 0)
      move<D, N>(user + offsets[i], packed + i * N);
    else
      move_some<D>(user + offsets[i], packed + i * step, step);
  };
  std::int64_t i = 0;
  if (far)
    for (; i < count - ahead; ++i) {
      prefetch(user + offsets[i + ahead]);
      one(i);
    }
  for (; i + 4 <= count; i += 4) {
    const std::int64_t a = offsets[i], b = offsets[i + 1], c = offsets[i + 2], d = offsets[i + 3];
    if constexpr (N != 0) {
      move<D, N>(user + a, packed + i * N);
      move<D, N>(user + b, packed + (i + 1) * N);
      move<D, N>(user + c, packed + (i + 2) * N);
      move<D, N>(user + d, packed + (i + 3) * N);
    } else {
      move_some<D>(user + a, packed + i * step, step);
      move_some<D>(user + b, packed + (i + 1) * step, step);
      move_some<D>(user + c, packed + (i + 2) * step, step);
      move_some<D>(user + d, packed + (i + 3) * step, step);
    }
  }
  for (; i < count; ++i) one(i);
}

template <Direction D, class Offset>
void units(const Units<Offset>& u) {
  std::int64_t done = 0;
#if DUNNAGE_WIDE
  if (D == Direction::pack && !u.far) {
    if (u.length == 8) done = gather<std::uint64_t>(u);
    if constexpr (sizeof(Offset) == 4)
      if (u.length == 4) done = gather<std::uint32_t>(u);
  }
#endif
  with_length(u.length, [&](auto n) HWY_ATTR {
    unit_loop<D, n()>(u.user, u.packed + done * u.length, u.offsets + done, u.count - done, u.length, u.far);
  });
}

template <Direction D>
void blocks(const Blocks& b) {
  constexpr std::int64_t ahead = 64;
  char* const user = b.user;
  const auto *offsets = b.offsets, *prefix = b.prefix;
  const auto count = b.count;
  const bool far = b.far;
  char* packed = b.packed;
  auto start = prefix[0];
  for (std::int64_t i = 0; i < count; ++i) {
    if (far && i + ahead < count) prefetch(user + offsets[i + ahead]);
    const auto end = prefix[i + 1];
    move_some<D>(user + offsets[i], packed, end - start);
    packed += end - start;
    start = end;
  }
}

void pack_rows(const Rows& r) { rows<Direction::pack>(r); }
void unpack_rows(const Rows& r) { rows<Direction::unpack>(r); }
void pack_tiles(const Rows& r) { tiles<Direction::pack>(r); }
void unpack_tiles(const Rows& r) { tiles<Direction::unpack>(r); }
void pack_near_units(const Units<std::int32_t>& u) { units<Direction::pack>(u); }
void unpack_near_units(const Units<std::int32_t>& u) { units<Direction::unpack>(u); }
void pack_units(const Units<std::int64_t>& u) { units<Direction::pack>(u); }
void unpack_units(const Units<std::int64_t>& u) { units<Direction::unpack>(u); }
void pack_blocks(const Blocks& b) { blocks<Direction::pack>(b); }
void unpack_blocks(const Blocks& b) { blocks<Direction::unpack>(b); }

/// Transposes 4x4 elements of 8 bytes in registers. `store` writes a vector to a row of the result.
template <class Store>
inline void transpose_4x4_u64(const char* from, std::int64_t from_row, Store&& store) {
#if DUNNAGE_WIDE
  const hn::CappedTag<std::uint64_t, 4> d;
  const auto load = [&](int r) { return hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from + r * from_row)); };
  const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto a = hn::InterleaveLower(d, r0, r1), b = hn::InterleaveUpper(d, r0, r1);
  const auto c = hn::InterleaveLower(d, r2, r3), e = hn::InterleaveUpper(d, r2, r3);
  store(0, d, hn::ConcatLowerLower(d, c, a));
  store(1, d, hn::ConcatLowerLower(d, e, b));
  store(2, d, hn::ConcatUpperUpper(d, c, a));
  store(3, d, hn::ConcatUpperUpper(d, e, b));
#else
  (void)from, (void)from_row, (void)store;
#endif
}

template <class Store>
inline void transpose_4x4_u32(const char* from, std::int64_t from_row, Store&& store) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const hn::Full128<std::uint32_t> d;
  const hn::Full128<std::uint64_t> w;
  const auto load = [&](int r) { return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(from + r * from_row)); };
  const auto r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  const auto a = hn::BitCast(w, hn::InterleaveLower(d, r0, r1)), b = hn::BitCast(w, hn::InterleaveUpper(d, r0, r1));
  const auto c = hn::BitCast(w, hn::InterleaveLower(d, r2, r3)), e = hn::BitCast(w, hn::InterleaveUpper(d, r2, r3));
  store(0, w, hn::InterleaveLower(w, a, c));
  store(1, w, hn::InterleaveUpper(w, a, c));
  store(2, w, hn::InterleaveLower(w, b, e));
  store(3, w, hn::InterleaveUpper(w, b, e));
#else
  (void)from, (void)from_row, (void)store;
#endif
}

/// Returns whether elements of this size are transposed in registers with this instruction set.
template <class T>
constexpr bool has_register_transpose() {
#if DUNNAGE_WIDE
  return true;
#elif HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return sizeof(T) == 4;
#else
  return false;
#endif
}

template <std::int64_t N>
inline void transpose_elements(const Transpose& t, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
  for (std::int64_t c = c0; c < c1; ++c)
    for (std::int64_t r = r0; r < r1; ++r) copy_fixed<N>(t.to + c * t.to_row + r * N, t.from + r * t.from_row + c * N);
}

/// Returns the number of rows before the first line boundary of the result.
template <std::int64_t N>
inline std::int64_t rows_before_line(const Transpose& t) {
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(t.to) % line);
  return over ? std::min((line - over) / N, t.rows) : 0;
}

template <class T, bool Stream>
void transpose_tiles(const Transpose& t) {
  constexpr std::int64_t N = sizeof(T);
  constexpr std::int64_t side = line / N;  // elements in a line
  // A strip of columns is walked over all rows. Its result rows are written from left to right, a
  // whole line at a time. Its source lines are prefetched one step ahead.
  constexpr std::int64_t strip = 8 * side;
  const auto first = Stream ? rows_before_line<N>(t) : 0;
  const auto last = first + (t.rows - first) / side * side;
  for (std::int64_t c = 0; c < t.columns; c += strip) {
    const auto end = std::min(c + strip, t.columns);
    const auto whole = c + (end - c) / side * side;
    transpose_elements<N>(t, 0, first, c, end);
    for (std::int64_t r = first; r < last; r += side) {
      for (std::int64_t k = 0; t.far && k < side; ++k)
        for (std::int64_t x = c; x < whole; x += side) prefetch(t.from + (r + side + k) * t.from_row + x * N);
      for (std::int64_t x = c; x < whole; x += side) {
        // One line of source columns by one line of result rows, in register tiles of 4 by 4.
        for (std::int64_t y = 0; y < side; y += 4) {
          for (std::int64_t z = 0; z < side; z += 4) {
            const auto store = [&](int row, auto d, auto v) HWY_ATTR {
              auto* to = reinterpret_cast<hn::TFromD<decltype(d)>*>(t.to + (x + y + row) * t.to_row + (r + z) * N);
              if constexpr (Stream)
                hn::Stream(v, d, to);
              else
                hn::StoreU(v, d, to);
            };
            const char* from = t.from + (r + z) * t.from_row + (x + y) * N;
            if constexpr (N == 8)
              transpose_4x4_u64(from, t.from_row, store);
            else
              transpose_4x4_u32(from, t.from_row, store);
          }
        }
      }
      transpose_elements<N>(t, r, r + side, whole, end);
    }
    transpose_elements<N>(t, last, t.rows, c, end);
  }
}

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
/// Transposes elements of 16 bytes: each is one register. The result is written a line at a time.
template <bool Stream>
void transpose_16(const Transpose& t) {
  constexpr std::int64_t N = 16, side = line / N, strip = 32;
  const hn::Full128<std::uint8_t> d;
  const auto first = Stream ? rows_before_line<N>(t) : 0;
  const auto last = first + (t.rows - first) / side * side;
  for (std::int64_t c = 0; c < t.columns; c += strip) {
    const auto end = std::min(c + strip, t.columns);
    transpose_elements<N>(t, 0, first, c, end);
    for (std::int64_t r = first; r < last; r += side) {
      if (t.far)
        for (std::int64_t k = 0; k < side; ++k)
          for (std::int64_t x = c; x < end; x += side) prefetch(t.from + (r + 4 * side + k) * t.from_row + x * N);
      for (std::int64_t x = c; x < end; ++x)
        for (std::int64_t z = 0; z < side; ++z) {
          const auto v = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(t.from + (r + z) * t.from_row + x * N));
          auto* to = reinterpret_cast<std::uint8_t*>(t.to + x * t.to_row + (r + z) * N);
          if constexpr (Stream)
            hn::Stream(v, d, to);
          else
            hn::StoreU(v, d, to);
        }
    }
    transpose_elements<N>(t, last, t.rows, c, end);
  }
}

#endif

template <std::int64_t N>
void transpose_plain(const Transpose& t) {
  constexpr std::int64_t side = 32;
  for (std::int64_t c = 0; c < t.columns; c += side)
    for (std::int64_t r = 0; r < t.rows; r += side)
      transpose_elements<N>(t, r, std::min(r + side, t.rows), c, std::min(c + side, t.columns));
}

template <class T>
void transpose_as(const Transpose& t) {
  if constexpr (has_register_transpose<T>()) {
    const bool lines = t.to_row % line == 0 && reinterpret_cast<std::uintptr_t>(t.to) % sizeof(T) == 0;
    return t.stream && lines ? transpose_tiles<T, true>(t) : transpose_tiles<T, false>(t);
  }
  transpose_plain<sizeof(T)>(t);
}

void transpose(const Transpose& t) {
  if (t.element == 4) return transpose_as<std::uint32_t>(t);
  if (t.element == 8) return transpose_as<std::uint64_t>(t);
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  const bool lines = t.to_row % line == 0 && reinterpret_cast<std::uintptr_t>(t.to) % 16 == 0;
  t.stream&& lines ? transpose_16<true>(t) : transpose_16<false>(t);
#else
  transpose_plain<16>(t);
#endif
}

void stream(char* to, const char* from, std::int64_t n) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line);
  const auto head = std::min(over ? line - over : 0, n);
  std::memcpy(to, from, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + line <= n; i += line) {
    if (i + 2048 < n) prefetch(from + i + 2048);
    for (std::int64_t k = 0; k < line; k += lanes)
      hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i + k)), d,
                 reinterpret_cast<std::uint8_t*>(to + i + k));
  }
  std::memcpy(to + i, from + i, static_cast<std::size_t>(n - i));
}

/// Copies whole lines to whole lines past the caches.
inline void stream_lines(char* to, const char* from, std::int64_t n) {
  const hn::CappedTag<std::uint8_t, line> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_UNROLL(8)
  for (std::int64_t k = 0; k < n; k += lanes)
    hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + k)), d,
               reinterpret_cast<std::uint8_t*>(to + k));
}

/// The blocks of rows, batch by batch.
class Batches {
 public:
  explicit Batches(const Rows& r) : rows_(r), blocks_(std::max<std::int64_t>(batch_lines / lines_of(r.block), 1)) {}
  bool done() const { return outer_ == rows_.outer.count; }
  /// Calls f(user, packed, n) for the runs of n blocks that make up the next batch.
  template <class F>
  void next(F&& f) {
    for (auto left = blocks_; left > 0 && !done();) {
      const auto n = std::min(left, rows_.inner.count - inner_);
      f(rows_.user + outer_ * rows_.outer.user + inner_ * rows_.inner.user,
        rows_.packed + outer_ * rows_.outer.packed + inner_ * rows_.inner.packed, n);
      left -= n;
      inner_ += n;
      if (inner_ < rows_.inner.count) return;
      inner_ = 0;
      ++outer_;
    }
  }

 private:
  const Rows& rows_;
  const std::int64_t blocks_;
  std::int64_t outer_ = 0, inner_ = 0;
};

/// Packs blocks of whole lines past the caches. Packed addresses must be multiples of a line.
void pack_batches(const Rows& r) {
  const auto block = r.block;
  const auto su = r.inner.user, sp = r.inner.packed;
  const auto fetch = [=](const char* user, const char*, std::int64_t n)
                         HWY_ATTR { prefetch_blocks(user, n, block, su); };
  Batches copied(r), fetched(r);
  fetched.next(fetch);
  fetched.next(fetch);
  while (!copied.done()) {
    fetched.next(fetch);
    copied.next([=](const char* user, char* packed, std::int64_t n) HWY_ATTR {
      for (; n > 0; --n, user += su, packed += sp) stream_lines(packed, user, block);
    });
  }
}

/// Copies blocks of whole units of N bytes past the caches. Where they are stored, addresses must
/// be multiples of N.
template <Direction D, std::int64_t N>
void stream_units(const Rows& r) {
  const hn::CappedTag<std::uint8_t, N> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto ahead = D == Direction::pack ? fetched_ahead(r) : 2048;
  for (std::int64_t j = 0; j < r.outer.count; ++j) {
    char* user = r.user + j * r.outer.user;
    char* packed = r.packed + j * r.outer.packed;
    for (std::int64_t i = 0; i < r.inner.count; ++i, user += r.inner.user, packed += r.inner.packed) {
      const char* from = D == Direction::pack ? user : packed;
      char* to = D == Direction::pack ? packed : user;
      for (std::int64_t k = 0; k < r.block; k += N) {
        if (k % line == 0) prefetch(from + k + ahead);
        for (auto l = k; l < k + N; l += lanes)
          hn::Stream(hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + l)), d,
                     reinterpret_cast<std::uint8_t*>(to + l));
      }
    }
  }
}

/// Packs every other element past the caches. The packed addresses must be multiples of the
/// element's size.
template <class T>
void stream_every_other(const Rows& r) {
  constexpr std::int64_t size = sizeof(T);
  for (std::int64_t j = 0; j < r.outer.count; ++j) {
    char* user = r.user + j * r.outer.user;
    char* packed = r.packed + j * r.outer.packed;
    const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(packed)) % line;
    const auto head = std::min(over ? (line - over) / size : 0, r.inner.count);
    const auto plain = [&](std::int64_t from, std::int64_t to) HWY_ATTR {
      for (auto i = from; i < to; ++i) copy_fixed<size>(packed + i * size, user + 2 * i * size);
    };
    plain(0, head);
    const auto n =
        every_other<Direction::pack, T, true>(user + 2 * head * size, packed + head * size, r.inner.count - head);
    plain(head + n, r.inner.count);
  }
}

/// Copies blocks one by one, each past the caches but for the ends that share a line with others.
template <Direction D>
void stream_blocks(const Rows& r) {
  // bytes of the next block to prefetch: those that the copy itself does not request in time
  constexpr std::int64_t most = 2048;
  for (std::int64_t j = 0; j < r.outer.count; ++j) {
    char* user = r.user + j * r.outer.user;
    char* packed = r.packed + j * r.outer.packed;
    for (std::int64_t i = 0; i < r.inner.count; ++i, user += r.inner.user, packed += r.inner.packed) {
      if constexpr (D == Direction::pack) {
        for (std::int64_t k = 0; k < r.block && k < most; k += line) prefetch(user + r.inner.user + k);
        stream(packed, user, r.block);
      } else {
        stream(user, packed, r.block);
      }
    }
  }
}

/// If a packed block has 4 or 8 bytes, the user's blocks must be every other element.
template <Direction D>
void stream_rows(const Rows& r) {
  if (D == Direction::pack && r.block == 4) return stream_every_other<std::uint32_t>(r);
  if (D == Direction::pack && r.block == 8) return stream_every_other<std::uint64_t>(r);
  // The hardware prefetches long blocks well.
  constexpr std::int64_t longest = 8192;
  const auto to = reinterpret_cast<std::uintptr_t>(D == Direction::pack ? r.packed : r.user);
  const auto strides = D == Direction::pack ? r.inner.packed | r.outer.packed : r.inner.user | r.outer.user;
  const auto all = static_cast<std::int64_t>(to) | strides | r.block;
  if (r.block > longest || all % 16 != 0) return stream_blocks<D>(r);
  // Shorter and longer blocks gained nothing by batches, or lost.
  const bool in_batches = D == Direction::pack && r.block >= 512 && r.block < 1024;
  if (all % line == 0) return in_batches ? pack_batches(r) : stream_units<D, line>(r);
  D == Direction::pack ? stream_units<D, 16>(r) : stream_blocks<D>(r);
}
void pack_stream_rows(const Rows& r) { stream_rows<Direction::pack>(r); }
void unpack_stream_rows(const Rows& r) { stream_rows<Direction::unpack>(r); }

void fence() { hwy::FlushStream(); }

void fill(Kernels& k) {
  k.target = hwy::TargetName(HWY_TARGET);
  k.pack_rows = pack_rows;
  k.unpack_rows = unpack_rows;
  k.pack_tiles = pack_tiles;
  k.unpack_tiles = unpack_tiles;
  k.pack_near_units = pack_near_units;
  k.unpack_near_units = unpack_near_units;
  k.pack_units = pack_units;
  k.unpack_units = unpack_units;
  k.pack_blocks = pack_blocks;
  k.unpack_blocks = unpack_blocks;
  k.transpose = transpose;
  k.pack_stream_rows = pack_stream_rows;
  k.unpack_stream_rows = unpack_stream_rows;
  k.stream = stream;
  k.fence = fence;
}

#undef DUNNAGE_WIDE
}  // namespace HWY_NAMESPACE
}  // namespace dunnage::pack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dunnage::pack {
namespace {
HWY_EXPORT(fill);
}

const Kernels& kernels() {
  static const Kernels chosen = [] {
    Kernels k;
    HWY_DYNAMIC_DISPATCH(fill)(k);
    return k;
  }();
  return chosen;
}

bool limit_simd(std::string_view name) {
  if (name == "auto") return true;
  if (name == "scalar") return hwy::DisableTargets(~HWY_BASELINE_TARGETS), true;
  if (name == "sse4") return hwy::DisableTargets(HWY_AVX2 | HWY_AVX3 | HWY_AVX3_DL), true;
  if (name == "avx2") return hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL), true;
  if (name == "neon") return hwy::DisableTargets(HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128), true;
  return name == "avx512" || name == "sve";
}

}  // namespace dunnage::pack
#endif
