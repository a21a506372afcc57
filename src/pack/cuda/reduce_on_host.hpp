// Reductions on the host, by the functions of the kernels: so they give the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "pack/cuda/reduction.hpp"

namespace dunnage::pack::cuda {

/// Reduces `count` elements of all sources, in their order. All addresses are of host memory. The
/// result may be one of the sources. At most Reduction::most_sources sources.
void reduce_on_host(Element element, Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                    std::int64_t count);

}  // namespace dunnage::pack::cuda
