#pragma once

#include <memory>
#include <vector>

#include <cuda.h>

#include "device/sim/stream.hpp"

namespace dunnage::sim {

struct Event {
  unsigned long long owner = 0;  // id of its context
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  std::shared_ptr<Work> record;      // the last; null before the first
  std::shared_ptr<Capture> capture;  // where the last was recorded in one
  std::vector<std::size_t> frontier;
};

}  // namespace dunnage::sim
