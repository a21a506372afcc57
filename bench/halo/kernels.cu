// The kernel that a programmer would write by hand: it moves any number of boxes in one launch.
// Blocks with the index y belong to box number y.
#include "box_move.hpp"

extern "C" __global__ void move_boxes(const bench::halo::BoxMove* moves) {
  const bench::halo::BoxMove move = moves[blockIdx.y];
  const unsigned nx = move.length[0], ny = move.length[1], cells = nx * ny * move.length[2];
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < cells; i += gridDim.x * blockDim.x) {
    const unsigned row = i / nx, x = i - row * nx, z = row / ny, y = row - z * ny;
    move.to[x + y * move.to_stride[0] + z * move.to_stride[1]] =
        move.from[x + y * move.from_stride[0] + z * move.from_stride[1]];
  }
}
