// How rows of blocks in the user's memory are prefetched. The hardware's own prefetching differs
// between processors, and where it works well, prefetching by software only costs time.
#pragma once

#include <cstdint>

#include "base/processor_kind.hpp"
#include "pack/cpu/kernels.hpp"

namespace dunnage::pack {

/// Returns how blocks of `block` bytes, `stride` bytes apart, are prefetched if they are probably
/// not cached. Pure. docs/measurements has the times on an Intel Xeon and on EPYCs of Zen 4 and 5.
/// Other processors have the choice that was right on most of them.
Prefetch prefetch_of(base::ProcessorKind kind, Direction direction, std::int64_t block, std::int64_t stride);

}  // namespace dunnage::pack
