// A gather along the reversed binomial tree of a broadcast.
#pragma once

#include "collective/bcast.hpp"

namespace dunnage::collective {

/// Returns what `rank` does to bring `b.bytes` bytes of each rank to the root. Ranges are in a
/// memory of ranks * bytes bytes. The root's data comes first, then the data of the next higher
/// rank, and so on.
Schedule gather(const Bcast& b, std::int32_t rank);

}  // namespace dunnage::collective
