// All that the simulated driver knows, under one lock. The lock is not held while operations of streams run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include <cuda.h>

#include "device/sim/fault.hpp"
#include "device/sim/module.hpp"
#include "device/sim/settings.hpp"
#include "device/sim/space.hpp"
#include "device/sim/table.hpp"

namespace dunnage::sim {

struct Allocation;
struct Capture;
struct Context;
struct Event;
struct Graph;
struct Physical;
struct Stream;

struct Device {
  CUcontext primary{};  // the handle; there is a context behind it while it is active
  int references = 0;
  unsigned flags = 0;
};

struct Driver {
  std::mutex lock;
  std::condition_variable changed;  // work was put into a stream or is done, or a stream ended
  bool initialised = false;
  std::atomic<bool> forked{false};  // this process is a child of the one that called cuInit

  Settings settings;
  std::minstd_rand random;
  Faults faults;
  Calls calls;
  std::map<std::string, Kernel, std::less<>> kernels;

  Space space;
  std::vector<Device> devices;
  std::map<CUdeviceptr, std::shared_ptr<Allocation>> allocations;  // by their first address
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> physical;  // that the program has handles of
  std::map<CUdeviceptr, std::size_t> ranges;                                   // reserved
  std::vector<std::shared_ptr<Capture>> captures;
  Table<CUcontext, Context> contexts;
  Table<CUstream, Stream> streams;
  Table<CUevent, Event> events;
  Table<CUmodule, Module> modules;
  Table<CUfunction, Function> functions;
  Table<CUgraph, Graph> graphs;
};

// Made at the first use and never destroyed: streams may still run when the program ends.
Driver& driver();

}  // namespace dunnage::sim
