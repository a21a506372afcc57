#include "pack/cuda/emulated.hpp"

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "pack/cuda/completing_moves.hpp"
#include "pack/cuda/handshake.hpp"
#include "pack/cuda/kernel_list.hpp"
#include "pack/cuda/move.hpp"
#include "pack/cuda/reduce.hpp"
#include "pack/cuda/rows.hpp"
#include "pack/cuda/signal.hpp"
#include "pack/cuda/stamped.hpp"
#include "pack/cuda/telling_moves.hpp"
#include "pack/cuda/tile.hpp"
#include "pack/cuda/tree.hpp"

namespace dunnage::pack::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
constexpr bool is_pack = true, is_unpack = false;

template <class T>
void reach(T*& pointer, Translate translate) {
  if (pointer) pointer = static_cast<T*>(translate(pointer));
}
template <class Index>
void reach(Nest<Index>& nest, Translate translate) {
  reach(nest.user, translate);
  reach(nest.table, translate);
}
template <class Index>
void reach(Dense<Index>& a, Translate translate) {
  reach(a.nest, translate);
  reach(a.packed, translate);
}
template <int N>
void reach(Fused<N, FusedMove>& moves, Translate translate) {
  for (auto& entry : moves.entry) reach(entry.from.user, translate), reach(entry.to.user, translate);
}
/// Gives the slots of others, by the addresses that a device has of them.
auto slots_by(Translate translate) {
  return [translate](u64 slot) { return static_cast<u64*>(translate(reinterpret_cast<void*>(slot))); };
}
/// Moves bounds by the same distance as the memory that they bound. A bound cannot be translated
/// itself, because it may be the end of an allocation.
void reach_bounds(const char*& low, const char*& high, const char* before, const char* after) {
  low += after - before;
  high += after - before;
}

template <class P>
P copied(const void* parameter) {
  P p;
  std::memcpy(static_cast<void*>(&p), parameter, sizeof p);
  return p;
}

template <class Index, class F>
void each_thread(u64 blocks, F&& f) {
  for (u64 i = 0; i < blocks * block_threads; ++i) f(static_cast<Index>(i));
}

#define DENSE(direction, W, V, D, T, I)                                                             \
  void dense_##direction##_w##W##_v##V##_d##D##_t##T##_i##I(const void* parameter, u64 blocks, u32, \
                                                            Translate translate) {                  \
    auto a = copied<Dense<u##I>>(parameter);                                                        \
    reach(a, translate);                                                                            \
    each_thread<u##I>(blocks, [&](u##I g) { direction##_dense<W, V, D, T != 0>(a, g); });           \
  }
DUNNAGE_DENSE_KERNELS(DENSE)
#undef DENSE

template <class Index, bool Pack>
Rows<Index> rows_from(const void* parameter, Translate translate) {
  auto a = copied<Rows<Index>>(parameter);
  const char* before = Pack ? a.nest.user : a.packed;
  reach(a.nest, translate);
  reach(a.packed, translate);
  reach_bounds(a.low, a.high, before, Pack ? a.nest.user : a.packed);
  return a;
}
#define ROWS(direction, L, D, T, I)                                                                                \
  void rows_##direction##_l##L##_d##D##_t##T##_i##I(const void* parameter, u64 blocks, u32, Translate translate) { \
    const auto a = rows_from<u##I, is_##direction>(parameter, translate);                                          \
    each_thread<u##I>(blocks, [&](u##I g) { direction##_rows<16, L != 0, D, T != 0>(a, g); });                     \
  }
DUNNAGE_ROWS_KERNELS(ROWS)
#undef ROWS

/// All threads of a block do the first half before any thread does the second half, as with a
/// barrier.
template <class First, class Second>
void each_tile(const void* parameter, u64 blocks, u32 shared, Translate translate, u64 side, First&& first,
               Second&& second) {
  auto a = copied<Tiled>(parameter);
  reach(a.user, translate);
  reach(a.packed, translate);
  std::vector<char> tile(shared);
  for (u64 block = 0; block < blocks; ++block) {
    const auto t = tile_at(a, block, side);
    for (u32 thread = 0; thread < tile_threads; ++thread) first(a, t, tile.data(), thread);
    for (u32 thread = 0; thread < tile_threads; ++thread) second(a, t, tile.data(), thread);
  }
}
#define TILE(direction, W, M)                                                                                    \
  void tile_##direction##_w##W##_m##M(const void* parameter, u64 blocks, u32 shared, Translate translate) {      \
    if constexpr (is_##direction)                                                                                \
      each_tile(parameter, blocks, shared, translate, tile_side<W>(), user_to_tile<W, M>, tile_to_packed<W, M>); \
    else                                                                                                         \
      each_tile(parameter, blocks, shared, translate, tile_side<W>(), packed_to_tile<W, M>, tile_to_user<W, M>); \
  }
DUNNAGE_TILE_KERNELS(TILE)
#undef TILE
#define PARTS(direction, W)                                                                                      \
  void parts_##direction##_w##W(const void* parameter, u64 blocks, u32 shared, Translate translate) {            \
    if constexpr (is_##direction)                                                                                \
      each_tile(parameter, blocks, shared, translate, parts_side, parts_user<W, true>, parts_packed<W, true>);   \
    else                                                                                                         \
      each_tile(parameter, blocks, shared, translate, parts_side, parts_packed<W, false>, parts_user<W, false>); \
  }
DUNNAGE_PARTS_KERNELS(PARTS)
#undef PARTS

/// A copy of a tree with translated pointers. The nodes of the original are found from its root.
class ReachedTree {
 public:
  ReachedTree(const TreeNode* root, Translate translate) : translate_(translate) {
    nodes_.push_back(reached(root)), fill(0, root);
  }
  const TreeNode* root() const { return nodes_.data(); }

 private:
  TreeNode reached(const TreeNode* from) const {
    auto node = copied<TreeNode>(translate_(from));
    reach(node.offsets, translate_);
    reach(node.prefix, translate_);
    return node;
  }
  void fill(std::size_t index, const TreeNode* from) {
    const auto kind = nodes_[index].kind;
    if (kind == TreeNode::block || kind == TreeNode::list) return;
    const auto* child = from + nodes_[index].child;
    const auto count = kind == TreeNode::concat ? nodes_[index].entries : 1;
    const auto first = nodes_.size();
    nodes_[index].child = static_cast<std::int32_t>(first) - static_cast<std::int32_t>(index);
    for (std::int64_t i = 0; i < count; ++i) nodes_.push_back(reached(child + i));
    for (std::int64_t i = 0; i < count; ++i) fill(first + static_cast<std::size_t>(i), child + i);
  }
  Translate translate_;
  std::vector<TreeNode> nodes_;
};

#define TREE(direction)                                                                 \
  void tree_##direction(const void* parameter, u64 blocks, u32, Translate translate) {  \
    auto a = copied<Tree>(parameter);                                                   \
    const ReachedTree tree(a.root, translate);                                          \
    a.root = tree.root();                                                               \
    const char* before = a.user;                                                        \
    reach(a.user, translate);                                                           \
    reach(a.packed, translate);                                                         \
    reach_bounds(a.low, a.high, before, a.user);                                        \
    each_thread<std::int64_t>(blocks, [&](std::int64_t c) { direction##_tree(a, c); }); \
  }
DUNNAGE_TREE_KERNELS(TREE)
#undef TREE

#define FUSED(direction, N, U)                                                                        \
  void fused_##direction##_n##N##_u##U(const void* parameter, u64 blocks, u32, Translate translate) { \
    auto f = copied<Fused<N>>(parameter);                                                             \
    for (auto& entry : f.entry) reach(entry.nest.user, translate), reach(entry.packed, translate);    \
    for (u64 block = 0; block < blocks; ++block)                                                      \
      for (u32 thread = 0; thread < block_threads; ++thread)                                          \
        run_fused<is_##direction, U>(f, static_cast<u32>(block), thread);                             \
  }
DUNNAGE_FUSED_KERNELS(FUSED)
#undef FUSED

#define MOVE(W, D, I)                                                                         \
  void move_w##W##_d##D##_i##I(const void* parameter, u64 blocks, u32, Translate translate) { \
    auto a = copied<Move<u##I>>(parameter);                                                   \
    reach(a.from, translate);                                                                 \
    reach(a.to, translate);                                                                   \
    each_thread<u##I>(blocks, [&](u##I i) { move_word<W, D>(a, i); });                        \
  }
DUNNAGE_MOVE_KERNELS(MOVE)
#undef MOVE

/// Blocks that run one after the other. Each holds its stores back until it releases them, and what
/// it never releases is seen when this object ends.
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  ~Blocks() { unreleased_.release(); }
  template <class Run>
  void run(u64 blocks, Run&& run_block) {
    auto* const of_kernel = held_stores;
    for (u32 block = 0; block < blocks; ++block) {
      HeldStores of_block;
      if (of_kernel) held_stores = &of_block;
      run_block(block);
      held_stores = of_kernel;
      of_block.move_to(unreleased_);
    }
  }

 private:
  HeldStores unreleased_;
};

template <u32 U, int N>
void move_and_complete(const void* parameter, u64 blocks, Translate translate) {
  auto m = copied<CompletingMoves<N>>(parameter);
  reach(m.completion.count, translate);
  reach(m.completion.told, translate);
  reach(m.moves, translate);
  const bool tells = m.completion.told;
  const Holding holding;
  const auto kernels = tells ? m.completion.count->kernels : 0;
  Blocks().run(blocks, [&](u32 block) {
    for (u32 thread = 0; thread < block_threads; ++thread) run_fused<is_pack, U>(m.moves, block, thread);
    if (tells) complete(m.completion, kernels, static_cast<u32>(blocks));
  });
}
#define MOVES(N, U)                                                                     \
  void moves_n##N##_u##U(const void* parameter, u64 blocks, u32, Translate translate) { \
    move_and_complete<U, N>(parameter, blocks, translate);                              \
  }
DUNNAGE_FUSED_MOVE_KERNELS(MOVES)
#undef MOVES

/// Others may need the processor to write what is waited for.
void rest() { std::this_thread::sleep_for(std::chrono::microseconds(10)); }

/// All threads of a block read before the block tells that, and write when all ranks have told it.
template <class T>
void reduce_with_handshake(const Reduction& a, u64 blocks, Translate translate) {
  struct Thread {
    bool has;
    Reduced<T> value;
  };
  std::vector<Thread> threads(block_threads);
  const auto reach_slot = slots_by(translate);
  for (u64 block = 0; block < blocks; ++block) {
    const auto first = block * block_threads;
    for (u64 t = 0; t < block_threads; ++t) threads[t].has = reduce<T>(a, first + t, threads[t].value);
    for (u32 rank = 0; rank < a.handshake.ranks; ++rank) tell_block(a.handshake, block, rank, reach_slot);
    for (u32 rank = 0; rank < a.handshake.ranks; ++rank)
      while (!block_told(a.handshake, block, rank)) rest();
    for (u64 t = 0; t < block_threads; ++t)
      if (threads[t].has) write_reduced<T>(a, first + t, threads[t].value);
  }
}

template <class T>
void reduce_blocks(const void* parameter, u64 blocks, Translate translate) {
  auto a = copied<Reduction>(parameter);
  for (u32 s = 0; s < a.sources; ++s) reach(a.source[s], translate);
  reach(a.to, translate);
  reach(a.handshake.slots, translate);
  if (a.handshake.ranks) return reduce_with_handshake<T>(a, blocks, translate);
  each_thread<u64>(blocks, [&](u64 i) { reduce_and_write<T>(a, i); });
}

#define REDUCE(name, ...)                                                           \
  void reduce_##name(const void* parameter, u64 blocks, u32, Translate translate) { \
    reduce_blocks<__VA_ARGS__>(parameter, blocks, translate);                       \
  }
DUNNAGE_REDUCE_KERNELS(REDUCE)
#undef REDUCE

void reach(Signal& s, Translate translate) {
  reach(s.epoch, translate);
  reach(s.puts_at, translate);
  reach(s.wait, translate);
}

void signal(const void* parameter, u64, u32, Translate translate) {
  auto s = copied<Signal>(parameter);
  reach(s, translate);
  const auto epoch = *s.epoch += s.advance;
  tell(s, epoch, 0, 1, slots_by(translate));
  wait_for(s, epoch, 0, 1, rest);
}

void exchange_n8(const void* parameter, u64, u32, Translate translate) {
  auto e = copied<SmallExchange>(parameter);
  reach(e.before, translate);
  reach(e.after, translate);
  reach(e.moves, translate);
  const Holding holding;
  const auto epoch = *e.before.epoch += e.before.advance;
  wait_for(e.before, epoch, 0, 1, rest);
  for (u32 block = 0; block < e.blocks; ++block)
    for (u32 thread = 0; thread < block_threads; ++thread) run_fused<is_pack>(e.moves, block, thread);
  tell(e.after, epoch, 0, 1, slots_by(translate));
  wait_for(e.after, epoch, 0, 1, rest);
}

template <int N>
void move_and_tell(const void* parameter, u64 blocks, Translate translate) {
  auto m = copied<TellingMoves<N>>(parameter);
  reach(m.before, translate);
  reach(m.after, translate);
  reach(m.finished, translate);
  reach(m.moves, translate);
  const Holding holding;
  wait_for(m.before, *m.after.epoch + m.after.advance, 0, 1, rest);
  bool last = false;
  Blocks all;
  all.run(blocks, [&](u32 block) {
    for (u32 thread = 0; thread < block_threads; ++thread) run_fused<is_pack>(m.moves, block, thread);
    last = finish_block(m.finished, static_cast<u32>(blocks));
  });
  if (last) {
    if (blocks_left) blocks_left(1);
    const auto epoch = *m.after.epoch += m.after.advance;
    tell(m.after, epoch, 0, 1, slots_by(translate));
    wait_for(m.after, epoch, 0, 1, rest);
  }
}
#define TELLING_MOVES(N)                                                              \
  void moves_tell_n##N(const void* parameter, u64 blocks, u32, Translate translate) { \
    move_and_tell<N>(parameter, blocks, translate);                                   \
  }
DUNNAGE_TELLING_MOVE_KERNELS(TELLING_MOVES)
#undef TELLING_MOVES

void stamped(const void* parameter, u64, u32, Translate translate) {
  auto x = copied<StampedExchange>(parameter);
  reach(x.epoch, translate);
  reach(x.broken, translate);
  reach(x.after, translate);
  for (auto& entry : x.entry) reach(entry.nest.user, translate), reach(entry.packed, translate);
  const Holding holding;
  const auto epoch = *x.epoch += x.advance;
  for (u32 thread = 0; thread < block_threads; ++thread)
    if (!run_stamped(x, epoch, thread, rest)) break;
  const auto slot = slots_by(translate);
  x.sends ? tell(x.after, epoch, 0, 1, slot) : tell_at_once(x.after, epoch, 0, 1, slot);
  wait_for(x.after, epoch, 0, 1, rest);
}

constexpr EmulatedKernel all[] = {{"signal", sizeof(Signal), signal},
                                  {"stamped", sizeof(StampedExchange), stamped},
                                  {"exchange_n8", sizeof(SmallExchange), exchange_n8},
#define ENTRY(function, ...) {#function, sizeof(__VA_ARGS__), function},
#define DENSE(direction, W, V, D, T, I) ENTRY(dense_##direction##_w##W##_v##V##_d##D##_t##T##_i##I, Dense<u##I>)
#define ROWS(direction, L, D, T, I) ENTRY(rows_##direction##_l##L##_d##D##_t##T##_i##I, Rows<u##I>)
#define TILE(direction, W, M) ENTRY(tile_##direction##_w##W##_m##M, Tiled)
#define PARTS(direction, W) ENTRY(parts_##direction##_w##W, Tiled)
#define TREE(direction) ENTRY(tree_##direction, Tree)
#define FUSED(direction, N, U) ENTRY(fused_##direction##_n##N##_u##U, Fused<N>)
#define MOVE(W, D, I) ENTRY(move_w##W##_d##D##_i##I, Move<u##I>)
#define MOVES(N, U) ENTRY(moves_n##N##_u##U, CompletingMoves<N>)
#define TELLING_MOVES(N) ENTRY(moves_tell_n##N, TellingMoves<N>)
#define REDUCE(name, ...) ENTRY(reduce_##name, Reduction)
                                  DUNNAGE_DENSE_KERNELS(DENSE) DUNNAGE_ROWS_KERNELS(ROWS) DUNNAGE_TILE_KERNELS(TILE)
                                      DUNNAGE_PARTS_KERNELS(PARTS) DUNNAGE_TREE_KERNELS(TREE) DUNNAGE_FUSED_KERNELS(
                                          FUSED) DUNNAGE_MOVE_KERNELS(MOVE) DUNNAGE_FUSED_MOVE_KERNELS(MOVES)
                                          DUNNAGE_TELLING_MOVE_KERNELS(TELLING_MOVES) DUNNAGE_REDUCE_KERNELS(REDUCE)};

}  // namespace

std::span<const EmulatedKernel> emulated_kernels() { return all; }

}  // namespace dunnage::pack::cuda
