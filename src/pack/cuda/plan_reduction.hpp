// From buffers to the launch of a reduction.
#pragma once

#include <cstdint>
#include <span>

#include "pack/cuda/launch.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::pack::cuda {

/// Blocks of the launch of `count` elements. `wide`: threads read chunks.
std::uint64_t reduction_blocks(Element element, std::int64_t count, bool wide);

/// The launch that reduces `count` elements of each source. All addresses are those that the device
/// uses, and multiples of the element's alignment. There are 1 to Reduction::most_sources sources,
/// and the operation applies() to the element. With one source, the elements are copied without
/// their gaps. With a handshake there are at most Handshake::most_blocks blocks. A pure function.
Launch plan_reduction(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count, const Handshake& handshake = {});

}  // namespace dunnage::pack::cuda
