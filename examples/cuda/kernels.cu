// All steps of persistent_stencil.cpp in one kernel. All its blocks must be resident, because they
// wait for each other, and for the kernels of other ranks.
#include "stencil.hpp"

namespace {

/// All blocks meet. The last one to come starts the exchange before the others go on: so all have
/// finished with what was received before, and the start comes before all sends.
__device__ void meet(Meeting& meeting, unsigned number, DNG_Device exchange) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // other blocks must see what this block has computed
    if (atomicAdd(&meeting.arrived, 1u) + 1 == number * gridDim.x) {
      __threadfence();
      dng_start(exchange);
      __threadfence();
      *(volatile unsigned*)&meeting.ended = number;
    }
    while (*(volatile unsigned*)&meeting.ended < number) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
}

/// The threads of a block share the cells [begin, end) of a row. The first and the last cell of a
/// row keep their values. The host has this formula too: the order of the additions decides about
/// the last bit.
__device__ void compute(const Stencil& s, const double* from, double* to, int row, int begin, int end) {
  const long long first = (long long)row * s.columns;
  for (int column = begin + (int)threadIdx.x; column < end; column += (int)blockDim.x) {
    if (column == 0 || column == s.columns - 1) continue;
    const double* const cell = from + first + column;
    to[first + column] = 0.25 * (cell[-s.columns] + cell[s.columns] + cell[-1] + cell[1]);
  }
}

}  // namespace

extern "C" __global__ void persistent_stencil(Stencil s) {
  const int block = (int)blockIdx.x, blocks = (int)gridDim.x, width = s.columns / s.partitions;
  int broken = 0;
  for (int step = 0; step < s.steps; ++step) {
    const int written = 1 - step % 2;
    const double* const from = s.field[1 - written];
    double* const to = s.field[written];
    const DNG_Device exchange = s.exchange[written];
    meet(*s.meeting, (unsigned)step + 1, exchange);
    // The neighbours need the outermost rows, so those come first. Each block sends what it has
    // computed.
    for (int part = block; part < 2 * s.partitions; part += blocks) {
      const bool up = part < s.partitions;
      const int partition = part % s.partitions, begin = partition * width;
      compute(s, from, to, up ? 1 : s.rows, begin, begin + width);
      broken |= dng_pready_block(exchange, up ? send_up : send_down, partition);
    }
    // The inner rows, while the outermost ones travel.
    for (int row = 2 + block; row < s.rows; row += blocks) compute(s, from, to, row, 0, s.columns);
    // Each block waits by itself: so its threads see what has arrived.
    broken |= dng_wait_block(exchange);
  }
  if (broken) s.meeting->broken = 1;
}
