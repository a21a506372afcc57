// The work on cells in device memory. host.F90 has the same for host memory and says why.
#include "shape.hpp"

using higrad::Box;
using higrad::Shape;

namespace {

/// The place of a cell, which counts from the ghost cells, in the memory of all variables.
__device__ long higrad_at(const Shape& shape, int x, int y, int z, int variable) {
  const long nx = shape.cells[0] + 2 * shape.ghost, ny = shape.cells[1] + 2 * shape.ghost,
             nz = shape.cells[2] + 2 * shape.ghost;
  return ((variable * nz + z) * ny + y) * nx + x;
}

/// The place of the i-th cell of a box.
__device__ long higrad_in_box(const Shape& shape, const Box& box, unsigned i, int variable) {
  const unsigned row = i / box.length[0], z = row / box.length[1];
  return higrad_at(shape, box.first[0] + i - row * box.length[0], box.first[1] + row - z * box.length[1],
                   box.first[2] + z, variable);
}

}  // namespace

/// A block is a part of a row. The index z counts the planes of all variables.
extern "C" __global__ void higrad_advance(Shape shape, const double* from, double* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, variable = blockIdx.z / shape.cells[2], h = shape.ghost;
  if (i >= shape.cells[0]) return;
  const long center = higrad_at(shape, i + h, blockIdx.y + h, blockIdx.z - variable * shape.cells[2] + h, variable);
  const long row = shape.cells[0] + 2 * h, plane = row * (shape.cells[1] + 2 * h);
  const double* const u = from + center;
  double around = 0;
  for (int c = -1; c <= 1; ++c)
    for (int b = -1; b <= 1; ++b)
      for (int a = -1; a <= 1; ++a) around += u[h * (c * plane + b * row + a)] - *u;
  to[center] = *u - 0.125 * (*u - u[-1]) - 0.0625 * (*u - u[-row]) - 0.03125 * (*u - u[-plane]) + 0.00390625 * around;
}

/// The index y of a block is the variable.
extern "C" __global__ void higrad_pack(Shape shape, Box box, const double* cells, double* buffer) {
  const unsigned all = box.length[0] * box.length[1] * box.length[2];
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
    buffer[static_cast<long>(blockIdx.y) * all + i] = cells[higrad_in_box(shape, box, i, blockIdx.y)];
}

extern "C" __global__ void higrad_unpack(Shape shape, Box box, const double* buffer, double* cells) {
  const unsigned all = box.length[0] * box.length[1] * box.length[2];
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += gridDim.x * blockDim.x)
    cells[higrad_in_box(shape, box, i, blockIdx.y)] = buffer[static_cast<long>(blockIdx.y) * all + i];
}
