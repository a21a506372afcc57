// The kernels that move several messages from layout to layout in one launch. An entry has a nest
// on both sides, which may be in different buffers, and in the memory of different devices.
#pragma once

#include "pack/cuda/fused.hpp"

namespace dunnage::pack::cuda {

/// Words with equal numbers in two nests.
struct FusedMove {
  std::uint32_t words = 0;  // how many words to move
  std::uint32_t word = 1;   // bytes of a word
  FusedNest from, to;
};

/// There is one direction only, whatever `Pack` says.
template <bool Pack>
DUNNAGE_HD Ends ends(const FusedMove& e, std::uint32_t i) {
  return {locate(e.from, i), locate(e.to, i)};
}

}  // namespace dunnage::pack::cuda
