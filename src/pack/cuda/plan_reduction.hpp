// From buffers to the launch of a reduction.
#pragma once

#include <cstdint>
#include <span>

#include "pack/cuda/launch.hpp"
#include "pack/cuda/reduction.hpp"

namespace dunnage::pack::cuda {

/// The launch that reduces `count` elements of each source. All addresses are those that the device
/// uses, and multiples of the element's alignment. There are 1 to Reduction::most_sources sources,
/// and the operation applies() to the element. With one source, the elements are copied without
/// their gaps. A pure function.
Launch plan_reduction(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count);

}  // namespace dunnage::pack::cuda
