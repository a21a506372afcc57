// Events. An event remembers the work, or the captured work, that was before it in its stream.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda_driver_api.h"
#include "sim/stream.hpp"

namespace dunnage::sim {

struct Event {
  unsigned long long owner = 0;  // id of its context
  std::weak_ptr<Context> context;
  unsigned flags = 0;
  std::shared_ptr<Work> record;      // the last record; null if there was none
  std::shared_ptr<Capture> capture;  // the capture of the last record, if that was in one
  std::vector<std::size_t> frontier;
};

}  // namespace dunnage::sim
