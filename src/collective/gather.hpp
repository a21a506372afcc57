// What comes up the tree that a binomial broadcast goes down.
#pragma once

#include "collective/bcast.hpp"

namespace dunnage::collective {

/// `b.bytes` of each rank go to the root. What `rank` does, among ranks * bytes bytes of memory: the root's own are first, those of the rank behind it next.
Schedule gather(const Bcast& b, std::int32_t rank);

}  // namespace dunnage::collective
