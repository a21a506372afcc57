// The list of all kernels. kernels.cu makes the device's functions from this list, emulated.cpp the
// host's, and kernel_id.cpp the names.
//
//   DENSE(direction, W, V, D, T, I)   words of W bytes in groups of V; D loops (0: any number);
//                                     T: with a table; I: bits of an index
//   ROWS(direction, L, D, T, I)       chunks of 16 bytes; L: the rows are long
//   TILE(direction, W, M)             transposes of elements of one word; M elements at a time
//   PARTS(direction, W)               transposes of elements of several words
//   TREE(direction)                   structs and lists of different lengths
//   FUSED(direction, N, U)            up to N nests in one launch; a thread moves U words
//   MOVE(W, D, I)                     words of W bytes from one nest to another
//   MOVES(N, U)                       up to N nests to as many others in one launch
//   TELLING_MOVES(N)                  likewise, and the last block tells others
//   REDUCE(element, type)             reductions of one kind of element (reduction.hpp has the list)
#pragma once

#include "pack/cuda/reduction.hpp"

// clang-format off
#define DUNNAGE_LONG_NESTS(X, direction, W, V)                                                              \
  X(direction, W, V, 1, 0, 32) X(direction, W, V, 2, 0, 32) X(direction, W, V, 3, 0, 32) X(direction, W, V, 0, 0, 32) \
  X(direction, W, V, 2, 1, 32) X(direction, W, V, 0, 1, 32)                                                 \
  X(direction, W, V, 0, 0, 64) X(direction, W, V, 0, 1, 64)
#define DUNNAGE_NESTS(X, direction, W, V) DUNNAGE_LONG_NESTS(X, direction, W, V) X(direction, W, V, 1, 1, 32)

#define DUNNAGE_DENSE_KERNELS(X)                                                                            \
  DUNNAGE_NESTS(X, pack, 1, 4) DUNNAGE_NESTS(X, pack, 2, 4) DUNNAGE_NESTS(X, pack, 4, 2)                    \
  DUNNAGE_NESTS(X, pack, 8, 2) DUNNAGE_NESTS(X, pack, 1, 1) DUNNAGE_NESTS(X, pack, 2, 1)               \
  DUNNAGE_NESTS(X, pack, 4, 1) DUNNAGE_NESTS(X, pack, 8, 1) DUNNAGE_NESTS(X, pack, 16, 1)                   \
  DUNNAGE_NESTS(X, unpack, 1, 1) DUNNAGE_LONG_NESTS(X, unpack, 1, 4) DUNNAGE_NESTS(X, unpack, 2, 1)              \
  DUNNAGE_LONG_NESTS(X, unpack, 2, 4) DUNNAGE_NESTS(X, unpack, 4, 1) DUNNAGE_NESTS(X, unpack, 8, 1)              \
  DUNNAGE_NESTS(X, unpack, 16, 1)

#define DUNNAGE_ROWS(X, direction, L)                                                                       \
  X(direction, L, 1, 0, 32) X(direction, L, 2, 0, 32) X(direction, L, 0, 0, 32) X(direction, L, 0, 1, 32)   \
  X(direction, L, 0, 0, 64) X(direction, L, 0, 1, 64)
#define DUNNAGE_ROWS_KERNELS(X)                                                                             \
  DUNNAGE_ROWS(X, pack, 0) DUNNAGE_ROWS(X, pack, 1) DUNNAGE_ROWS(X, unpack, 0) DUNNAGE_ROWS(X, unpack, 1)

#define DUNNAGE_TILES(X, direction)                                                                         \
  X(direction, 1, 4) X(direction, 1, 1) X(direction, 2, 2) X(direction, 2, 1) X(direction, 4, 1)            \
  X(direction, 8, 1) X(direction, 16, 1)
#define DUNNAGE_TILE_KERNELS(X) DUNNAGE_TILES(X, pack) DUNNAGE_TILES(X, unpack)

#define DUNNAGE_PARTS(X, direction)                                                                         \
  X(direction, 1) X(direction, 2) X(direction, 4) X(direction, 8)
#define DUNNAGE_PARTS_KERNELS(X) DUNNAGE_PARTS(X, pack) DUNNAGE_PARTS(X, unpack)

#define DUNNAGE_TREE_KERNELS(X) X(pack) X(unpack)
#define DUNNAGE_FUSED(X, direction, U) X(direction, 8, U) X(direction, 32, U) X(direction, 64, U) X(direction, 128, U)
#define DUNNAGE_FUSED_KERNELS(X)                                                                            \
  DUNNAGE_FUSED(X, pack, 1) DUNNAGE_FUSED(X, pack, 4) DUNNAGE_FUSED(X, unpack, 1) DUNNAGE_FUSED(X, unpack, 4)

#define DUNNAGE_MOVES(X, W) X(W, 1, 32) X(W, 2, 32) X(W, 3, 32) X(W, 0, 32) X(W, 0, 64)
#define DUNNAGE_MOVE_KERNELS(X) DUNNAGE_MOVES(X, 4) DUNNAGE_MOVES(X, 8) DUNNAGE_MOVES(X, 16)
#define DUNNAGE_FUSED_MOVE_KERNELS(X)                                                                       \
  X(8, 1) X(32, 1) X(64, 1) X(128, 1) X(8, 4) X(32, 4) X(64, 4) X(128, 4)
#define DUNNAGE_TELLING_MOVE_KERNELS(X) X(8) X(32) X(64) X(128)
#define DUNNAGE_REDUCE_KERNELS(X) DUNNAGE_REDUCTION_ELEMENTS(X)
// clang-format on
