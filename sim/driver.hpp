// The whole state of the simulated driver, under one lock. The lock is not held while the work of
// streams runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/fault.hpp"
#include "sim/module.hpp"
#include "sim/settings.hpp"
#include "sim/space.hpp"
#include "sim/table.hpp"

namespace dunnage::sim {

struct Allocation;
struct Capture;
struct Context;
struct Event;
struct Graph;
struct GraphExec;
struct Physical;
struct Stream;

struct Device {
  CUcontext primary{};  // the handle; a context belongs to it while the primary context is active
  int references = 0;
  unsigned flags = 0;
};

struct Driver {
  std::mutex lock;
  std::condition_variable changed;  // work is done, or blocks of a kernel are free, or a context is destroyed
  bool initialised = false;
  std::atomic<bool> forked{false};  // this process is a child of the one that called cuInit

  Settings settings;
  std::minstd_rand random;
  Faults faults;
  Calls calls;
  std::map<std::string, Kernel, std::less<>> kernels;

  Space space;
  std::vector<Device> devices;
  std::map<CUdeviceptr, std::shared_ptr<Allocation>> allocations;              // by their first address
  std::map<CUmemGenericAllocationHandle, std::shared_ptr<Physical>> physical;  // if the program has handles
  std::map<CUdeviceptr, std::size_t> ranges;                                   // reserved addresses: bytes by start
  std::vector<std::shared_ptr<Capture>> captures;
  Table<CUcontext, Context> contexts;
  Table<CUstream, Stream> streams;
  Table<CUevent, Event> events;
  Table<CUmodule, Module> modules;
  Table<CUfunction, Function> functions;
  Table<CUgraph, Graph> graphs;
  Table<CUgraphExec, GraphExec> executables;
};

// Created by the first use. Never destroyed, because streams may still run when the program ends.
Driver& driver();

// Reads the settings and creates the devices. Throws if there is to be no device.
void initialise(Driver& driver);

}  // namespace dunnage::sim
