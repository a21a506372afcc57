#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <cuda.h>

#include "device/sim/driver.hpp"
#include "device/sim/error.hpp"

namespace dunnage::sim {

struct Context {
  CUcontext handle{};
  unsigned long long id = 0;  // never used again, where a primary context's handle is
  CUdevice device = 0;
  bool primary = false;
  unsigned flags = 0;
  CUresult dead = CUDA_SUCCESS;  // what every call returns from now on
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Stream>> streams;  // all, also destroyed ones that still have work
  std::vector<std::pair<std::thread::id, std::shared_ptr<Stream>>> per_thread;
  std::set<CUcontext> peers;  // whose memory this one may access

  void check() const { require(dead == CUDA_SUCCESS, dead); }
  void fail(CUresult code) {
    if (dead == CUDA_SUCCESS) dead = code;
  }
};

std::shared_ptr<Context> current_context();       // null where there is none, or none any more
std::shared_ptr<Context> need_current_context();  // throws then
std::shared_ptr<Context> context_of(CUcontext handle);

// Makes the device's primary context active where it is not.
std::shared_ptr<Context> activate_primary(CUdevice device);

// Waits for the context's work, then frees all that it owns.
void destroy(const std::shared_ptr<Context>& context, std::unique_lock<std::mutex>& lock);

}  // namespace dunnage::sim
