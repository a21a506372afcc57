#include "platforms.hpp"

namespace bench {

std::vector<Platform> platforms(std::int32_t per_host) {
  constexpr double us = 1e-6, GB = 1e9;
  constexpr double core = 1 / (10 * GB), card = 1 / (50 * GB);  // seconds a byte: what a core copies at, and 400 Gbit/s
  constexpr double overhead = 0.2 * us;
  constexpr std::int64_t eager = 8 << 10;
  constexpr int leaf = 32, group = 256;  // hosts
  const auto host = [&](double latency) { return Network::Level{per_host, latency, card}; };
  return {
      {"fat tree",
       "32 hosts on a leaf switch, half as much up as down",
       {{host(0.6 * us), {per_host * leaf, 1.5 * us, 1 / (leaf / 2 * 50 * GB)}}, 2.2 * us, core, overhead, eager},
       per_host},
      {"dragonfly",
       "256 hosts a group, a quarter as much between groups",
       {{host(0.6 * us), {per_host * group, 1.6 * us, 1 / (group / 4 * 50 * GB)}}, 2.6 * us, core, overhead, eager},
       per_host},
  };
}

}  // namespace bench
