// Half a round trip by NVSHMEM: by a stream and by a kernel. Blocks with gaps are left
// out: NVSHMEM puts bytes.
#pragma once

#include <string>
#include <vector>

#include "trips.hpp"

namespace triggered {

/// `library`: what nvshmem.cu makes. All ranks call it at a time. If NVSHMEM does not start, prints
/// why.
void trips_by_nvshmem(const std::string& library, const std::vector<Shape>& shapes, int rounds);

}  // namespace triggered
