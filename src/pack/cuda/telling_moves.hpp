// The kernels that move several messages from layout to layout, and whose last block tells others
// of that. A kernel of its own for that would begin a microsecond after the last block. If there
// are few blocks, all of them wait for other ranks first, which saves one more kernel.
#pragma once

#include "pack/cuda/finished_blocks.hpp"
#include "pack/cuda/signal.hpp"

namespace dunnage::pack::cuda {

template <int N>
struct TellingMoves {
  Signal before;                      // what every block waits for, if anything; its epoch is that of `after`
  Signal after;                       // what the last block tells and waits for
  std::uint32_t* finished = nullptr;  // how many blocks have finished; 0 before the launch and after it
  Fused<N, FusedMove> moves;
};

}  // namespace dunnage::pack::cuda
