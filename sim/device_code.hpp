// What include/dunnage_device.cuh takes from CUDA, on the simulated device: the threads of a grid
// are threads of the host. To be included before that file.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

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

/// Threads that meet: a block, or a warp.
class Group {
 public:
  explicit Group(unsigned size) : barrier_(size) {}
  void sync() { barrier_.arrive_and_wait(); }
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
};

struct Index {
  unsigned x, y, z;
};
/// The groups of the thread that runs. Null: a thread alone.
inline thread_local Group *block_group = nullptr, *warp_group = nullptr;

}  // namespace dng_host

inline thread_local dng_host::Index threadIdx{0, 0, 0}, blockIdx{0, 0, 0}, blockDim{1, 1, 1}, gridDim{1, 1, 1};

namespace dng_host {

/// Runs f() in every thread of a grid of one dimension. All blocks run at once.
template <class F>
void run_grid(unsigned blocks, unsigned threads, const F& f) {
  std::vector<std::unique_ptr<Group>> groups;
  const auto group_of = [&](unsigned size) { return groups.emplace_back(std::make_unique<Group>(size)).get(); };
  std::vector<std::thread> all;
  for (unsigned block = 0; block < blocks; ++block) {
    auto* const together = group_of(threads);
    Group* warp = nullptr;
    for (unsigned thread = 0; thread < threads; ++thread) {
      if (thread % 32 == 0) warp = group_of(threads - thread < 32 ? threads - thread : 32);
      all.emplace_back([&f, thread, block, blocks, threads, together, warp] {
        threadIdx = {thread, 0, 0};
        blockIdx = {block, 0, 0};
        blockDim = {threads, 1, 1};
        gridDim = {blocks, 1, 1};
        block_group = together;
        warp_group = warp;
        f();
      });
    }
  }
  for (auto& thread : all) thread.join();
}

inline void sync(Group* group) {
  if (group) group->sync();
}
inline int any(Group* group, int value) { return group ? group->any(value) : value; }

}  // namespace dng_host

inline void __syncthreads() { dng_host::sync(dng_host::block_group); }
inline int __syncthreads_or(int value) { return dng_host::any(dng_host::block_group, value); }
inline void __syncwarp() { dng_host::sync(dng_host::warp_group); }
inline int __any_sync(unsigned, int value) { return dng_host::any(dng_host::warp_group, value); }
