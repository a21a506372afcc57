// Modules and their functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "device/cuda_driver_api.h"

struct dunnageSimLaunch;

namespace dunnage::sim {

// The function that was registered under a kernel's name.
struct Kernel {
  void (*run)(const dunnageSimLaunch*) = nullptr;
  std::vector<std::size_t> sizes;  // bytes of each parameter
};

struct Module {
  unsigned long long owner = 0;  // id of its context
  std::map<std::string, CUfunction, std::less<>> functions;
};

struct Function {
  unsigned long long owner = 0;
  Kernel kernel;
  bool loaded = false;                  // cuFuncLoad or a launch has loaded it
  int dynamic_shared_bytes = 48 << 10;  // the most that a launch may ask for
};

}  // namespace dunnage::sim
