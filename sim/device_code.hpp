// What include/dunnage_device.cuh takes from CUDA, on the simulated device: the threads of a grid
// are threads of the host. To be included before that file.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "pack/cuda/held_stores.hpp"
#include "sim/sim.h"

#define DNG_HOST

namespace dng_host {

inline decltype(&dunnageSimTranslate) translate = nullptr;  // to be set before the first kernel runs

template <class T>
T* at(T* pointer) {
  return static_cast<T*>(translate(pointer));
}
/// Others may need the processor to write what is waited for.
inline void rest() { std::this_thread::sleep_for(std::chrono::microseconds(10)); }
inline unsigned long long now() {
  return static_cast<unsigned long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

using dunnage::pack::cuda::held_stores;

template <class T>
void store(char* to, T value) {
  if (held_stores) return held_stores->hold(to, &value, sizeof value);
  *reinterpret_cast<T*>(to) = value;
}

/// Threads that meet: a block, or a warp.
class Group {
 public:
  explicit Group(unsigned size) : barrier_(size) {}
  void sync() { barrier_.arrive_and_wait(); }
  /// All threads of the group know of some stores.
  void learn(dunnage::pack::cuda::HeldStores& stores) {
    const std::lock_guard hold(mutex_);
    stores.move_to(known_);
  }
  void tell(Group& other) {
    const std::lock_guard hold(mutex_);
    other.learn(known_);
  }
  /// What the threads know is seen by all.
  void release() {
    const std::lock_guard hold(mutex_);
    known_.release();
  }
  int any(int value) {
    if (value) any_ = true;
    sync();
    const bool result = any_;
    sync();
    any_ = false;
    sync();
    return result;
  }

 private:
  std::barrier<> barrier_;
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  dunnage::pack::cuda::HeldStores known_;
};

struct Index {
  unsigned x, y, z;
};
/// The groups of the thread that runs. Null: a thread alone.
inline thread_local Group *block_group = nullptr, *warp_group = nullptr;

inline void fence() {
  if (!held_stores) return;
  for (auto* const group : {block_group, warp_group})  // older stores first
    if (group) group->release();
  held_stores->release();
}

}  // namespace dng_host

inline thread_local dng_host::Index threadIdx{0, 0, 0}, blockIdx{0, 0, 0}, blockDim{1, 1, 1}, gridDim{1, 1, 1};

namespace dng_host {

/// Runs f() in every thread of a grid of one dimension. As many blocks as are resident run at once.
template <class F>
void run_grid(const dunnageSimLaunch& launch, const F& f) {
  const unsigned blocks = launch.gridDim[0], threads = launch.blockDim[0];
  std::vector<std::unique_ptr<Group>> groups;
  std::counting_semaphore<> places(launch.residentBlocks);
  const auto group_of = [&](unsigned size) { return groups.emplace_back(std::make_unique<Group>(size)).get(); };
  std::vector<std::thread> all;
  for (unsigned block = 0; block < blocks; ++block) {
    auto* const together = group_of(threads);
    Group* warp = nullptr;
    places.acquire();
    const auto running = std::make_shared<std::atomic<unsigned>>(threads);
    for (unsigned thread = 0; thread < threads; ++thread) {
      if (thread % 32 == 0) warp = group_of(threads - thread < 32 ? threads - thread : 32);
      all.emplace_back([&f, &launch, &places, running, thread, block, blocks, threads, together, warp] {
        threadIdx = {thread, 0, 0};
        blockIdx = {block, 0, 0};
        blockDim = {threads, 1, 1};
        gridDim = {blocks, 1, 1};
        block_group = together;
        warp_group = warp;
        dunnage::pack::cuda::HeldStores stores;  // at the end of a block nobody else sees them
        if (launch.holdsStores) held_stores = &stores;
        f();
        warp->tell(*together);
        together->learn(stores);
        held_stores = nullptr;
        if (--*running == 0) places.release();
      });
    }
  }
  for (auto& thread : all) thread.join();
  for (const auto& group : groups) group->release();
}

/// A barrier makes what a thread has stored, and what it knows of, known to all threads.
inline void learn(Group& group) {
  if (!held_stores) return;
  if (&group == block_group && warp_group) warp_group->tell(group);
  group.learn(*held_stores);
}
inline void sync(Group* group) {
  if (!group) return;
  learn(*group);
  group->sync();
}
inline int any(Group* group, int value) {
  if (!group) return value;
  learn(*group);
  return group->any(value);
}

}  // namespace dng_host

inline void __syncthreads() { dng_host::sync(dng_host::block_group); }
inline int __syncthreads_or(int value) { return dng_host::any(dng_host::block_group, value); }
inline void __syncwarp() { dng_host::sync(dng_host::warp_group); }
inline int __any_sync(unsigned, int value) { return dng_host::any(dng_host::warp_group, value); }
