// Networks for the simulation: invented, of today's kinds.
#pragma once

#include <string>
#include <vector>

#include "simulate.hpp"

namespace bench {

struct Platform {
  std::string name, text;
  Network network;
  std::int32_t per_host;
};

/// Of hosts with so many ranks each.
std::vector<Platform> platforms(std::int32_t per_host);

}  // namespace bench
