// Moves boxes of cells: by hand-written kernels in device memory, by loops in host memory.
#pragma once

#include <memory>
#include <vector>

#include "cuda_aware/gpu.hpp"
#include "cuda_aware/memory.hpp"
#include "halo/box_move.hpp"

namespace bench::halo {

/// Some moves that are made again and again, in one launch.
class Moves {
 public:
  Moves(Where where, std::vector<BoxMove> moves);
  bool empty() const { return moves_.empty(); }
  const std::vector<BoxMove>& moves() const { return moves_; }
  const Memory& on_device() const { return on_device_; }
  unsigned blocks() const { return blocks_; }

 private:
  std::vector<BoxMove> moves_;
  Memory on_device_;
  unsigned blocks_ = 1;  // for each move
};

class Mover {
 public:
  /// Throws NoDevice if device memory is asked for and there is no GPU.
  explicit Mover(const Gpu* gpu);
  ~Mover();
  Where where() const { return stream_ ? Where::device : Where::host; }
  /// Begins to move, or moves.
  void begin(const Moves& moves);
  /// Waits until all that has begun is done.
  void wait();

 private:
  std::unique_ptr<Stream> stream_;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};

}  // namespace bench::halo
