// Kernels that send and receive by themselves (include/dunnage_device.cuh). The simulated device
// runs them as threads of the host: ../c/gpu_kernels.cpp includes this file.
#include "plan.hpp"

namespace triggered_kernels {

struct Part {
  int request, partition;
};
__device__ inline void start(int scope, DNG_Device exchange) {
  if (scope == thread) return dng_start(exchange);
  if (scope == warp) return dng_start_warp(exchange);
  dng_start_block(exchange);
}
__device__ inline int pready(int scope, DNG_Device exchange, Part part) {
  if (scope == thread) return dng_pready(exchange, part.request, part.partition);
  if (scope == warp) return dng_pready_warp(exchange, part.request, part.partition);
  return dng_pready_block(exchange, part.request, part.partition);
}
__device__ inline int parrived(int scope, DNG_Device exchange, Part part) {
  if (scope == thread) return dng_parrived(exchange, part.request, part.partition);
  if (scope == warp) return dng_parrived_warp(exchange, part.request, part.partition);
  return dng_parrived_block(exchange, part.request, part.partition);
}
__device__ inline int wait(int scope, DNG_Device exchange) {
  if (scope == thread) return dng_wait(exchange);
  if (scope == warp) return dng_wait_warp(exchange);
  return dng_wait_block(exchange);
}

/// Computes a partition, and sends it.
__device__ inline int send(const Plan& p, const Region& r, int round) {
  int* const buffer = dng::at(r.buffer);
  const int* const truth = dng::at(r.rounds) + round * r.span;
  for (long long i = r.begin + threadIdx.x; i < r.begin + r.length; i += blockDim.x) buffer[i] = truth[i];
  return pready(p.scope, p.exchange, {r.request, r.partition});
}
/// Uses a partition that has arrived.
__device__ inline void receive(const Region& r, int round) {
  int* const buffer = dng::at(r.buffer);
  int* const log = dng::at(r.rounds) + round * r.span;
  for (long long i = r.begin + threadIdx.x; i < r.begin + r.length; i += blockDim.x) {
    log[i] = buffer[i];
    buffer[i] = poison;
  }
}

}  // namespace triggered_kernels

/// One block: whole exchanges, many rounds without the host.
extern "C" __global__ void exchange_rounds(triggered_kernels::Plan p) {
  using namespace triggered_kernels;
  int broken = 0;
  for (int round = 0; round < p.rounds; ++round) {
    start(p.scope, p.exchange);
    for (int i = 0; i < p.sends; ++i) broken |= send(p, dng::at(p.send)[(i + round) % p.sends], round);
    const bool one_by_one = round % 2 == 0;
    if (!one_by_one) broken |= wait(p.scope, p.exchange);
    for (int i = p.receives; i-- > 0;) {
      const Region& r = dng::at(p.receive)[i];
      while (one_by_one && !parrived(p.scope, p.exchange, {r.request, r.partition})) dng::rest();
      receive(r, round);
    }
    broken |= wait(p.scope, p.exchange);
  }
  if (broken) *dng::at(p.broken) = 1;
}

/// One block, warp or thread: each round sends by one exchange, and starts the other one while data
/// are on their way.
extern "C" __global__ void take_turns(triggered_kernels::Turns t) {
  using namespace triggered_kernels;
  const auto value = [&](int rank, int round, int i) { return (rank * 1024 + round) * 4096 + i; };
  const int me = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int broken = 0;
  if (me == 0) *dng::at(t.broken) = 0;
  start(t.scope, t.exchange[0]);
  for (int round = 0; round < t.rounds; ++round) {
    const int turn = round % 2;
    const DNG_Device now = t.exchange[turn], next = round + 1 < t.rounds ? t.exchange[1 - turn] : nullptr;
    for (int i = me; i < t.ints; i += threads) dng::at(t.out[turn])[i] = value(t.rank, round, i);
    broken |= pready(t.scope, now, {1, 0});
    if (next) start(t.scope, next);
    broken |= wait(t.scope, now);
    for (int i = me; i < t.ints; i += threads) {
      broken |= dng::at(t.in[turn])[i] != value(t.sender, round, i);
      dng::at(t.in[turn])[i] = poison;
    }
    __syncthreads();  // all have read before the next start
  }
  if (broken) *dng::at(t.broken) = 1;
}

/// Two blocks of one thread. They wait for each other, so both must be resident.
extern "C" __global__ void hand_over(triggered_kernels::HandOver h) {
  char *const value = h.words, *const seen = value + dng_slot_stride;
  char *const told = seen + dng_slot_stride, *const answered = told + dng_slot_stride;
  if (blockIdx.x == 0) {
    dng::store(dng::at(value), triggered_kernels::handed_over);
    if (h.fenced) dng::fence();
    dng::store_slot(told, 1);
    while (dng::load_acquire(answered) == 0) dng::rest();
  } else {
    while (dng::load_acquire(told) == 0) dng::rest();
    *(dng_word*)dng::at(seen) = *(const dng_word*)dng::at(value);
    dng::fence();
    dng::store_slot(answered, 1);
  }
}

/// Some blocks, all of which wait for a round that the stream has started. Each uses what has
/// arrived as soon as it knows, and nobody may write there any more.
extern "C" __global__ void wait_in_blocks(triggered_kernels::Plan p) {
  using namespace triggered_kernels;
  const int me = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  int broken = 0;
  for (int i = me; i < p.sends; i += blocks) broken |= send(p, dng::at(p.send)[i], p.first_round);
  const bool asks = (me + p.first_round) % 2 == 0;
  if (!asks) broken |= wait(p.scope, p.exchange);
  for (int i = me; i < p.receives; i += blocks) {
    const Region& r = dng::at(p.receive)[i];
    while (asks && !parrived(p.scope, p.exchange, {r.request, r.partition})) dng::rest();
    receive(r, p.first_round);
  }
  for (int i = 0; i < p.receives; ++i) {  // of other blocks too
    const Region& r = dng::at(p.receive)[i];
    parrived(p.scope, p.exchange, {r.request, r.partition});
  }
  broken |= wait(p.scope, p.exchange);
  if (broken) *dng::at(p.broken) = 1;
}

/// Any number of blocks, each of which computes and sends some partitions of one round. The stream
/// has started the exchange, and waits for it.
extern "C" __global__ void send_partitions(triggered_kernels::Plan p) {
  using namespace triggered_kernels;
  for (int i = static_cast<int>(blockIdx.x); i < p.sends; i += static_cast<int>(gridDim.x))
    if (send(p, dng::at(p.send)[(i + p.first_round) % p.sends], p.first_round)) *dng::at(p.broken) = 1;
}
