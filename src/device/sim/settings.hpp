// DUNNAGE_SIM_*: read once, by cuInit.
#pragma once

#include <cstdint>

namespace dunnage::sim {

struct Settings {
  int devices = 2;
  std::uint64_t memory = std::uint64_t{1} << 30;  // bytes of each device
  std::uint64_t delay = 50;                       // microseconds by which an operation comes late, at most
  std::uint64_t seed = 1;
  bool reachable = false;                         // the host reaches device memory: for what is told to reach it by itself

  static Settings from_environment();
};

}  // namespace dunnage::sim
