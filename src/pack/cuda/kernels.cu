// The kernels: one extern "C" function for each entry of kernel_list.hpp. No other code runs on the
// device.
#include "pack/cuda/completing_moves.hpp"
#include "pack/cuda/handshake.hpp"
#include "pack/cuda/kernel_list.hpp"
#include "pack/cuda/move.hpp"
#include "pack/cuda/partition.hpp"
#include "pack/cuda/reduce.hpp"
#include "pack/cuda/rows.hpp"
#include "pack/cuda/signal.hpp"
#include "pack/cuda/stamped.hpp"
#include "pack/cuda/telling_moves.hpp"
#include "pack/cuda/tile.hpp"
#include "pack/cuda/tree.hpp"

namespace {
using namespace dunnage::pack::cuda;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr bool is_pack = true, is_unpack = false;

template <class Index>
__device__ Index item() {
  return static_cast<Index>(blockIdx.x) * block_threads + threadIdx.x;
}
}  // namespace

#define KERNEL extern "C" __global__ void __launch_bounds__(256)

#define DENSE(direction, W, V, D, T, I)                                                                \
  KERNEL dense_##direction##_w##W##_v##V##_d##D##_t##T##_i##I(const __grid_constant__ Dense<u##I> a) { \
    direction##_dense<W, V, D, T != 0>(a, item<u##I>());                                               \
  }
DUNNAGE_DENSE_KERNELS(DENSE)

// Kernels that wait for memory need many threads. So as many blocks run at once as the registers
// and the architecture allow.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define MANY_BLOCKS 4
#elif defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 1200 || __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 890)
#define MANY_BLOCKS 6
#else
#define MANY_BLOCKS 7
#endif
#define ROWS(direction, L, D, T, I)                                                        \
  extern "C" __global__ void __launch_bounds__(256, L&& I == 32 ? MANY_BLOCKS : 1)         \
      rows_##direction##_l##L##_d##D##_t##T##_i##I(const __grid_constant__ Rows<u##I> a) { \
    direction##_rows<16, L != 0, D, T != 0>(a, item<u##I>());                              \
  }
DUNNAGE_ROWS_KERNELS(ROWS)

extern __shared__ __align__(16) char tile[];

template <int W, int M>
__device__ void tile_pack(const Tiled& a) {
  const auto t = tile_at(a, blockIdx.x, tile_side<W>());
  user_to_tile<W, M>(a, t, tile, threadIdx.x);
  __syncthreads();
  tile_to_packed<W, M>(a, t, tile, threadIdx.x);
}
template <int W, int M>
__device__ void tile_unpack(const Tiled& a) {
  const auto t = tile_at(a, blockIdx.x, tile_side<W>());
  packed_to_tile<W, M>(a, t, tile, threadIdx.x);
  __syncthreads();
  tile_to_user<W, M>(a, t, tile, threadIdx.x);
}
#define TILE(direction, W, M) \
  KERNEL tile_##direction##_w##W##_m##M(const __grid_constant__ Tiled a) { tile_##direction<W, M>(a); }
DUNNAGE_TILE_KERNELS(TILE)

template <int W>
__device__ void parts_pack(const Tiled& a) {
  const auto t = tile_at(a, blockIdx.x, parts_side);
  parts_user<W, true>(a, t, tile, threadIdx.x);
  __syncthreads();
  parts_packed<W, true>(a, t, tile, threadIdx.x);
}
template <int W>
__device__ void parts_unpack(const Tiled& a) {
  const auto t = tile_at(a, blockIdx.x, parts_side);
  parts_packed<W, false>(a, t, tile, threadIdx.x);
  __syncthreads();
  parts_user<W, false>(a, t, tile, threadIdx.x);
}
#define PARTS(direction, W) \
  KERNEL parts_##direction##_w##W(const __grid_constant__ Tiled a) { parts_##direction<W>(a); }
DUNNAGE_PARTS_KERNELS(PARTS)

#define TREE(direction) \
  KERNEL tree_##direction(const __grid_constant__ Tree a) { direction##_tree(a, item<std::int64_t>()); }
DUNNAGE_TREE_KERNELS(TREE)

#define FUSED(direction, N, U)                                                 \
  KERNEL fused_##direction##_n##N##_u##U(const __grid_constant__ Fused<N> f) { \
    run_fused<is_##direction, U>(f, blockIdx.x, threadIdx.x);                  \
  }
DUNNAGE_FUSED_KERNELS(FUSED)

#define MOVE(W, D, I) \
  KERNEL move_w##W##_d##D##_i##I(const __grid_constant__ Move<u##I> a) { move_word<W, D>(a, item<u##I>()); }
DUNNAGE_MOVE_KERNELS(MOVE)

#define MOVES(N, U) \
  KERNEL moves_n##N##_u##U(const __grid_constant__ CompletingMoves<N> m) { move_and_complete<U>(m); }
DUNNAGE_FUSED_MOVE_KERNELS(MOVES)

namespace {
struct OnDevice {
  __device__ std::uint64_t* operator()(u64 slot) const { return reinterpret_cast<std::uint64_t*>(slot); }
};
struct NoRest {
  __device__ void operator()() const {}
};

// All threads of a block have read before one of them tells that.
__device__ void shake_hands(const Handshake& h) {
  __syncthreads();
  if (threadIdx.x < h.ranks) {
    tell_block(h, blockIdx.x, threadIdx.x, OnDevice());
    while (!block_told(h, blockIdx.x, threadIdx.x)) {
    }
  }
  __syncthreads();
}

template <class T>
__device__ void reduce_block(const Reduction& a) {
  const auto i = item<u64>();
  Reduced<T> value;
  const bool has = reduce<T>(a, i, value);
  if (a.handshake.ranks) shake_hands(a.handshake);
  if (has) write_reduced<T>(a, i, value);
}
}  // namespace
#define REDUCE(name, ...) \
  KERNEL reduce_##name(const __grid_constant__ Reduction a) { reduce_block<__VA_ARGS__>(a); }
DUNNAGE_REDUCE_KERNELS(REDUCE)

// One warp. All threads have read the epoch before one of them advances it.
extern "C" __global__ void __launch_bounds__(32) signal(const __grid_constant__ Signal s) {
  const std::uint64_t epoch = *s.epoch + s.advance;
  __syncwarp();
  if (s.advance && threadIdx.x == 0) *s.epoch = epoch;
  tell(s, epoch, threadIdx.x, signal_threads, OnDevice());
  wait_for(s, epoch, threadIdx.x, signal_threads, NoRest());
}

KERNEL exchange_n8(const __grid_constant__ SmallExchange e) {
  const std::uint64_t epoch = *e.before.epoch + e.before.advance;
  const auto wait = [&] {
    wait_for(e.before, epoch, threadIdx.x, block_threads, NoRest());
    __syncthreads();
    if (e.before.advance && threadIdx.x == 0) *e.before.epoch = epoch;
  };
  if (e.blocks == 0)
    wait();
  else
    run_fused<is_pack>(e.moves, 0, threadIdx.x, wait);
  for (u32 block = 1; block < e.blocks; ++block) run_fused<is_pack>(e.moves, block, threadIdx.x);
  __syncthreads();
  tell(e.after, epoch, threadIdx.x, block_threads, OnDevice());
  wait_for(e.after, epoch, threadIdx.x, block_threads, NoRest());
}

template <int N>
__device__ void move_and_tell(const TellingMoves<N>& m) {
  // Read early, so that nothing waits for it at the end.
  const std::uint64_t epoch = threadIdx.x < signal_threads ? *m.after.epoch + m.after.advance : 0;
  run_fused<is_pack>(m.moves, blockIdx.x, threadIdx.x, [&] {
    if (m.before.waits == 0) return;
    if (threadIdx.x < signal_threads) wait_for(m.before, epoch, threadIdx.x, signal_threads, NoRest());
    __syncthreads();
  });
  __syncthreads();
  if (threadIdx.x >= signal_threads) return;
  const bool last = threadIdx.x == 0 && finish_block(m.finished, gridDim.x);
  if (!__shfl_sync(~0u, last, 0)) return;
  __syncwarp();  // what thread 0 knows of other blocks, all threads know
  if (m.after.advance && threadIdx.x == 0) *m.after.epoch = epoch;
  tell(m.after, epoch, threadIdx.x, signal_threads, OnDevice());
  wait_for(m.after, epoch, threadIdx.x, signal_threads, NoRest());
}
#define TELLING_MOVES(N) \
  KERNEL moves_tell_n##N(const __grid_constant__ TellingMoves<N> m) { move_and_tell(m); }
DUNNAGE_TELLING_MOVE_KERNELS(TELLING_MOVES)

KERNEL stamped(const __grid_constant__ StampedExchange x) {
  const std::uint64_t epoch = *x.epoch + x.advance;
  run_stamped(x, epoch, threadIdx.x, NoRest());
  __syncthreads();
  if (x.advance && threadIdx.x == 0) *x.epoch = epoch;
  if (x.sends)
    tell(x.after, epoch, threadIdx.x, block_threads, OnDevice());
  else
    tell_at_once(x.after, epoch, threadIdx.x, block_threads, OnDevice());
  wait_for(x.after, epoch, threadIdx.x, block_threads, NoRest());
}

KERNEL pready(const __grid_constant__ PartitionCall c) {
  dng_pready_block(c.exchange, static_cast<int>(c.request), static_cast<int>(c.partition));
}
extern "C" __global__ void __launch_bounds__(signal_threads) wait_exchange(const __grid_constant__ PartitionCall c) {
  dng_wait_warp(c.exchange);
}
KERNEL partition(const __grid_constant__ PartitionCall c) {
  dng::move_partition(dng::move_of(c.exchange->request[c.request], c.partition), item<u64>(),
                      u64{gridDim.x} * block_threads);
}
