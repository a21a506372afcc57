// The kernels by which streams of several GPUs wait for each other, without the host.
//
// Exchanges are numbered from 1 on. The number of the latest one is an epoch. A rank tells another
// rank of its epoch by a word in the other's memory, a slot. Waiting is "greater or equal", so no
// slot is ever reset. The epoch itself stands in device memory, and a kernel advances it. So a
// captured kernel has no number in its parameters, and its graph can be launched again and again.
//
// A release orders everything before it in the stream before the slot; an acquire orders the slot
// before everything behind it. Both have system scope, because the slot may be on another device.
#pragma once

#include "pack/cuda/fused_move.hpp"

namespace dunnage::pack::cuda {

inline constexpr std::uint32_t signal_threads = 32;
/// Bytes from one slot to the next: each has cache lines of its own.
inline constexpr std::uint32_t slot_stride = 128;

/// What one launch tells others, and what it waits for afterwards. Most ranks have few peers, whose
/// slots are named in the parameters, because a look into a table takes half a microsecond.
struct Signal {
  static constexpr std::uint32_t near = 16;
  std::uint64_t* epoch = nullptr;
  std::uint64_t put[near] = {};            // the addresses of the first slots of other ranks, which get the epoch
  const std::uint64_t* puts_at = nullptr;  // the table of all of them
  const char* wait = nullptr;              // the first of this rank's slots
  std::uint32_t puts = 0, waits = 0;
  std::uint32_t advance = 0;  // 1: a new exchange begins
};

/// A whole exchange of few bytes in one launch of one block: waits, moves, tells, and waits.
struct SmallExchange {
  Signal before, after;
  std::uint32_t blocks = 0;
  Fused<8, FusedMove> moves;
};
inline constexpr std::uint32_t most_small_blocks = 4;

DUNNAGE_HD std::uint64_t load_acquire(const std::uint64_t* from) {
#ifdef __CUDA_ARCH__
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
#else
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
#endif
}

DUNNAGE_HD void store_release(std::uint64_t* to, std::uint64_t value) {
#ifdef __CUDA_ARCH__
  asm volatile("fence.acq_rel.sys; st.relaxed.sys.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
#else
#ifndef __CUDACC__
  if (held_stores) held_stores->release();
#endif
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
#endif
}

/// The part of one of `threads` threads in telling others. `reach` gives the address of a slot.
template <class Reach>
DUNNAGE_HD void tell(const Signal& s, std::uint64_t epoch, std::uint32_t thread, std::uint32_t threads, Reach reach) {
  for (auto i = thread; i < s.puts; i += threads)
    store_release(reach(i < Signal::near ? s.put[i] : s.puts_at[i]), epoch);
}

/// Whether slot i has reached the epoch.
DUNNAGE_HD bool reached(const Signal& s, std::uint32_t i, std::uint64_t epoch) {
  const auto* slot = reinterpret_cast<const std::uint64_t*>(s.wait + static_cast<std::uint64_t>(i) * slot_stride);
  return static_cast<std::int64_t>(load_acquire(slot) - epoch) >= 0;
}

/// The part of one thread in waiting. `rest` is called between two looks.
template <class Rest>
DUNNAGE_HD void wait_for(const Signal& s, std::uint64_t epoch, std::uint32_t thread, std::uint32_t threads, Rest rest) {
  for (auto i = thread; i < s.waits; i += threads)
    while (!reached(s, i, epoch)) rest();
}

}  // namespace dunnage::pack::cuda
