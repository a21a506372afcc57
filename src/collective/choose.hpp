// Which broadcast between hosts, by the costs of all.
#pragma once

#include "collective/cost.hpp"

namespace dunnage::collective {

struct Choice {
  BcastAlgorithm algorithm = BcastAlgorithm::binomial;
  std::int64_t segment = 0;  // bytes
  double seconds = 0;        // predicted
};

/// Of all that can be the one of the least cost; `b.segment` is not looked at. A pure function: all ranks find the same.
Choice choose_bcast(const Bcast& b, const LogGP& network);

}  // namespace dunnage::collective
