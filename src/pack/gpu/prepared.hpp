// Moves from buffer to buffer that are planned once, and put into streams again and again. Whatever
// takes the driver's locks is done when they are planned: kernels are loaded, memory is taken,
// tables are uploaded. A stream that waits for another rank would otherwise hold that up.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pack/cuda/telling_moves.hpp"
#include "pack/gpu/launch.hpp"

namespace dunnage::pack::gpu {

/// Not thread-safe.
class Prepared {
 public:
  Prepared() = default;
  /// Plans the moves, whatever the layouts are, in the current context. Messages between two
  /// layouts for which there is no single kernel go by way of `scratch`. Throws device::Error.
  Prepared(device::Gpu& gpu, std::span<const MoveRange> ranges, CUdeviceptr scratch);
  /// Bytes of scratch memory that the moves need.
  static std::int64_t scratch_size(std::span<const MoveRange> ranges);

  bool empty() const { return steps_.empty(); }
  /// Puts the kernels into a stream of the context. Throws device::Error.
  void put(device::Gpu& gpu, CUstream stream);
  /// Likewise, and the last block tells and waits as `after` says. `finished`: a word of device
  /// memory that is 0. Every block waits as `before` says, which must be nothing if
  /// waiting_blocks() is 0. Puts nothing and returns false if the last kernel cannot tell. Throws
  /// device::Error.
  bool put(device::Gpu& gpu, CUstream stream, const pack::cuda::Signal& before, const pack::cuda::Signal& after,
           std::uint32_t* finished);
  /// How many blocks of threads wait if the moves do that themselves. 0 if they cannot.
  std::uint64_t waiting_blocks() const;
  /// What one block does quickly in one launch, with what is to be told and to be waited for
  /// before and afterwards. Empty if the moves are not like that.
  std::optional<pack::cuda::SmallExchange> small(const pack::cuda::Signal& before,
                                                 const pack::cuda::Signal& after) const;

 private:
  struct Step {
    Direction direction;
    pack::cuda::Launch launch;
  };
  void add(device::Gpu& gpu, Direction direction, std::vector<pack::cuda::Launch> launches);
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<const GpuRecipe>> recipes_;  // whose constants the kernels read
};

}  // namespace dunnage::pack::gpu
