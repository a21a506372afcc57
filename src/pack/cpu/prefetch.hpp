// How rows of blocks in the user's memory are prefetched. The hardware's own prefetching differs
// between processors, and where it works well, prefetching by software only costs time.
#pragma once

#include <cstdint>

#include "base/processor_kind.hpp"
#include "pack/cpu/kernels.hpp"

namespace dunnage::pack {

/// Returns how blocks of `block` bytes, `stride` bytes apart, are prefetched if they are probably
/// not cached. Pure. docs/decisions/0044-prefetching.md says why. Processors that were not measured
/// have the choice that was right on most of those that were.
Prefetch prefetch_of(base::ProcessorKind kind, Direction direction, std::int64_t block, std::int64_t stride);

}  // namespace dunnage::pack
