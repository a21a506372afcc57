// Kernels that send and receive by themselves (include/dunnage_device.cuh). The simulated device
// runs them as threads of the host: ../c/gpu_kernels.cpp includes this file.
#include "plan.hpp"

namespace triggered_kernels {

__device__ inline void start(const Plan& p) {
  if (p.scope == thread) return dng_start(p.exchange);
  if (p.scope == warp) return dng_start_warp(p.exchange);
  dng_start_block(p.exchange);
}
__device__ inline int pready(const Plan& p, const Region& r) {
  if (p.scope == thread) return dng_pready(p.exchange, r.request, r.partition);
  if (p.scope == warp) return dng_pready_warp(p.exchange, r.request, r.partition);
  return dng_pready_block(p.exchange, r.request, r.partition);
}
__device__ inline int parrived(const Plan& p, const Region& r) {
  if (p.scope == thread) return dng_parrived(p.exchange, r.request, r.partition);
  if (p.scope == warp) return dng_parrived_warp(p.exchange, r.request, r.partition);
  return dng_parrived_block(p.exchange, r.request, r.partition);
}
__device__ inline int wait(const Plan& p) {
  if (p.scope == thread) return dng_wait(p.exchange);
  if (p.scope == warp) return dng_wait_warp(p.exchange);
  return dng_wait_block(p.exchange);
}

/// Computes a partition, and sends it.
__device__ inline int send(const Plan& p, const Region& r, int round) {
  int* const buffer = dng::at(r.buffer);
  const int* const truth = dng::at(r.rounds) + round * r.span;
  for (long long i = r.begin + threadIdx.x; i < r.begin + r.length; i += blockDim.x) buffer[i] = truth[i];
  return pready(p, r);
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
    start(p);
    for (int i = 0; i < p.sends; ++i) broken |= send(p, dng::at(p.send)[(i + round) % p.sends], round);
    const bool one_by_one = round % 2 == 0;
    if (!one_by_one) broken |= wait(p);
    for (int i = p.receives; i-- > 0;) {
      const Region& r = dng::at(p.receive)[i];
      while (one_by_one && !parrived(p, r)) dng::rest();
      receive(r, round);
    }
    broken |= wait(p);
  }
  if (broken) *dng::at(p.broken) = 1;
}

/// One block, warp or thread: each round sends by one exchange, and starts the other one.
extern "C" __global__ void take_turns(triggered_kernels::Turns t) {
  using namespace triggered_kernels;
  const auto value = [&](int rank, int round, int i) { return (rank * 1024 + round) * 4096 + i; };
  const int me = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int broken = 0;
  if (me == 0) *dng::at(t.broken) = 0;
  t.scope == thread ? dng_start(t.exchange[0])
  : t.scope == warp ? dng_start_warp(t.exchange[0])
                    : dng_start_block(t.exchange[0]);
  for (int round = 0; round < t.rounds; ++round) {
    const int turn = round % 2;
    const DNG_Device now = t.exchange[turn], next = round + 1 < t.rounds ? t.exchange[1 - turn] : nullptr;
    for (int i = me; i < t.ints; i += threads) dng::at(t.out[turn])[i] = value(t.rank, round, i);
    broken |= t.scope == thread ? dng_pready_start(now, 1, 0, next)
              : t.scope == warp ? dng_pready_start_warp(now, 1, 0, next)
                                : dng_pready_start_block(now, 1, 0, next);
    broken |= t.scope == thread ? dng_wait(now) : t.scope == warp ? dng_wait_warp(now) : dng_wait_block(now);
    for (int i = me; i < t.ints; i += threads) {
      broken |= dng::at(t.in[turn])[i] != value(t.sender, round, i);
      dng::at(t.in[turn])[i] = poison;
    }
    __syncthreads();  // all have read before the next start
  }
  if (broken) *dng::at(t.broken) = 1;
}

/// Any number of blocks, each of which computes and sends some partitions of one round. The stream
/// has started the exchange, and waits for it.
extern "C" __global__ void send_partitions(triggered_kernels::Plan p) {
  using namespace triggered_kernels;
  for (int i = static_cast<int>(blockIdx.x); i < p.sends; i += static_cast<int>(gridDim.x))
    if (send(p, dng::at(p.send)[(i + p.first_round) % p.sends], p.first_round)) *dng::at(p.broken) = 1;
}
