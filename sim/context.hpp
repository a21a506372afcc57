// Contexts, and which context is current in a thread. sim/lifetime.hpp creates and destroys them.
#pragma once

#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/driver.hpp"
#include "sim/error.hpp"

namespace dunnage::sim {

struct Connection;

struct Context {
  CUcontext handle{};
  unsigned long long id = 0;  // never used again, unlike the handle of a primary context
  CUdevice device = 0;
  bool primary = false;
  unsigned flags = 0;
  CUresult dead = CUDA_SUCCESS;  // if not success: the error that every call returns
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Stream>> streams;  // all streams, also destroyed ones that still have work
  std::vector<std::pair<std::thread::id, std::shared_ptr<Stream>>> per_thread;
  std::vector<std::shared_ptr<Connection>> connections;
  std::uint64_t streams_made = 0;
  std::uint64_t running = 0;  // thread blocks of kernels that run now
  std::set<CUcontext> peers;  // the contexts whose memory this context may access

  void check() const { require(dead == CUDA_SUCCESS, dead); }
  void fail(CUresult code) {
    if (dead == CUDA_SUCCESS) dead = code;
  }
};

std::vector<CUcontext>& context_stack();  // of this thread; the last one is current

std::shared_ptr<Context> current_context();       // null if there is none, or if the context was destroyed
std::shared_ptr<Context> need_current_context();  // throws in these cases
std::shared_ptr<Context> context_of(CUcontext handle);

}  // namespace dunnage::sim
