// The settings DUNNAGE_SIM_*. cuInit reads them once.
#pragma once

#include <cstdint>

namespace dunnage::sim {

struct Settings {
  int devices = 2;
  std::uint64_t memory = std::uint64_t{1} << 30;  // bytes of each device
  std::uint64_t delay = 50;                       // the longest delay of an operation, in microseconds
  std::uint64_t seed = 1;
  bool mps = false;        // the devices say that processes share them by MPS
  bool reachable = false;  // the host can touch device memory, for MPIs that do so

  static Settings from_environment();
};

}  // namespace dunnage::sim
