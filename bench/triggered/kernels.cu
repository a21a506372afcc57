// Kernels that send by themselves (include/dunnage_device.cuh).
#include "plan.hpp"

/// One block: messages there and back.
extern "C" __global__ void __launch_bounds__(1024) round_trips(triggered::Trips t) {
  int broken = 0;
  if (t.out == t.in) {
    for (int leg = 0; leg < t.count; ++leg) {
      dng_start_block(t.out);
      broken |= dng_pready_block(t.out, 1, 0);
      broken |= dng_wait_block(t.out);
    }
  } else {
    // What the other rank does not wait for is done while a message is on its way.
    int started = 0;
    dng_start_block(t.in);
    dng_start_block(t.out);
    for (int trip = t.count / 2; trip-- > 0;) {
      if (!t.first) broken |= dng_wait_block(t.in);
      broken |= dng_pready_block(t.out, 0, 0);
      if (t.first ? started++ > 0 : trip > 0) dng_start_block(t.in);
      broken |= dng_wait_block(t.out);
      if (trip > 0) dng_start_block(t.out);
      if (t.first) broken |= dng_wait_block(t.in);
    }
  }
  if (broken) *t.broken = 1;
}

template <class Word>
__device__ void bare_copy(const triggered::Bare& b) {
  const unsigned words = b.block / sizeof(Word), all = words * b.blocks, step = gridDim.x * blockDim.x;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < all; i += step) {
    const auto offset = (dng_word)(i / words) * b.stride + (i % words) * sizeof(Word);
    *(Word*)(b.to + offset) = *(const Word*)(b.from + offset);
  }
}

/// Any number of blocks. The last one to end raises the flag.
extern "C" __global__ void bare_put(triggered::Bare b) {
  if (b.block % sizeof(dng::Wide) == 0)
    bare_copy<dng::Wide>(b);
  else
    bare_copy<dng_word>(b);
  __syncthreads();
  if (threadIdx.x > 0) return;
  dng::fence();
  if (gridDim.x > 1) {
    if (atomicAdd(b.ended, 1u) != gridDim.x - 1) return;
    *b.ended = 0;
    dng::fence();
  }
  dng::store_slot(b.flag, b.number);
}

extern "C" __global__ void bare_wait(triggered::Bare b) {
  while (!dng::reached(dng::load_acquire(b.flag), b.number)) {
  }
}

/// Blocks of 20 us, which keep all places for threads. `stop`: 1 ends the kernel.
extern "C" __global__ void fill(const volatile int* stop) {
  if (*stop) return;
  const auto begin = dng::now();
  while (dng::now() - begin < 20000) __nanosleep(100);
}

/// The computation needs no memory.
__device__ float computed(const triggered::Overlap& o, int partition, float value) {
  const bool traces = o.trace && threadIdx.x == 0;
  if (traces) o.trace[4 * partition] = dng::now();
  for (int i = 0; i < o.loops; ++i) value = value * 0.999f + 1.0f;
  if (traces) o.trace[4 * partition + 1] = value < 0 ? 0 : dng::now();  // not before the value is there
  return value;
}

__device__ void note(const triggered::Overlap& o, int partition, int what, bool first_thread) {
  if (o.trace && first_thread) o.trace[4 * partition + what] = dng::now();
}

/// Any number of blocks. Each computes a partition and then sends it.
extern "C" __global__ void compute_and_send(triggered::Overlap o) {
  float value = static_cast<float>(threadIdx.x);
  for (int partition = static_cast<int>(blockIdx.x); partition < o.partitions;
       partition += static_cast<int>(gridDim.x)) {
    value = computed(o, partition, value);
    note(o, partition, 2, threadIdx.x == 0);
    if (o.sends && dng_pready_block(o.exchange, o.request, partition)) *o.broken = 1;
    note(o, partition, 3, threadIdx.x == 0);
  }
  if (value < 0) *o.result = value;  // never, but the compiler does not know
}

/// The last warps of each block send one partition each, while the other threads compute as many
/// partitions more.
extern "C" __global__ void compute_while_warps_send(triggered::Overlap o) {
  const int warp = static_cast<int>(threadIdx.x / 32), first_sender = static_cast<int>(blockDim.x / 32) - o.senders;
  const int step = o.senders * static_cast<int>(gridDim.x);
  float value = static_cast<float>(threadIdx.x);
  for (int first = o.senders * static_cast<int>(blockIdx.x); first < o.partitions + step; first += step) {
    const int sent = first - step + warp - first_sender;
    if (warp < first_sender) {
      for (int i = 0; i < o.senders && first + i < o.partitions; ++i) value = computed(o, first + i, value);
    } else if (o.sends && sent >= 0 && sent < o.partitions) {
      note(o, sent, 2, threadIdx.x % 32 == 0);
      if (dng_pready_warp(o.exchange, o.request, sent)) *o.broken = 1;
      note(o, sent, 3, threadIdx.x % 32 == 0);
    }
    __syncthreads();
  }
  if (value < 0) *o.result = value;  // never, but the compiler does not know
}
