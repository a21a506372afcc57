// The settings DUNNAGE_SIM_*. cuInit reads them once.
#pragma once

#include <cstdint>

namespace dunnage::sim {

struct Settings {
  int devices = 2;
  std::uint64_t memory = std::uint64_t{1} << 30;  // bytes of each device
  std::uint64_t delay = 50;                       // the longest delay of an operation, in microseconds
  std::uint64_t seed = 1;
  std::uint64_t kernel_time = 0;  // microseconds that every kernel takes at least
  std::uint64_t blocks = 0;       // thread blocks that run at once in a context; 0: any number
  bool blocking = false;          // calls that need the context's lock wait for the kernels that run
  bool holds_stores = false;      // kernels hold their stores back until a fence
  std::uint64_t connections = 0;  // hardware queues of a context, which its streams share; 0: one for each stream
  bool mps = false;               // the devices say that processes share them by MPS
  bool reachable = false;         // the host can touch device memory, for MPIs that do so

  static Settings from_environment();
};

}  // namespace dunnage::sim
