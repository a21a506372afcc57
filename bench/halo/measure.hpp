// Runs ways in turns and takes their times.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halo/exchange.hpp"

namespace bench::halo {

struct Series {
  std::vector<double> seconds;               ///< of each exchange, on the slowest rank
  std::map<std::string, double> phases;      ///< mean seconds of this rank
  bool verified = false, verifiable = true;  ///< every cell is right on every rank
};

struct Plan {
  int rounds = 5, each = 20, warm_ups = 3;
  double too_long = 5;  ///< seconds; a way whose first exchange takes longer is measured once
};

/// Collective. Returns a series for each exchange.
std::vector<Series> measure(Domain& domain, const std::vector<std::unique_ptr<Exchange>>& exchanges, const Plan& plan);

}  // namespace bench::halo
