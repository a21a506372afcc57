// Puts pack and unpack kernels into a CUDA stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/gpu.hpp"
#include "pack/cuda/launch.hpp"
#include "pack/cuda/plan_reduction.hpp"
#include "pack/gpu/described.hpp"

namespace dunnage::pack::gpu {

/// A range of packed bytes, [begin, end), to pack or unpack. `user` is the buffer's address as
/// given to MPI, `packed` the address of byte `begin`. Both are the addresses that the device uses.
struct Range {
  Direction direction;
  std::shared_ptr<const GpuRecipe> recipe;
  std::uintptr_t user, packed;
  std::int64_t begin, end;
};

/// Puts the kernels for some ranges into a lane's stream, with as few launches as possible. All
/// ranges must have the same direction. Throws device::Error.
void launch(device::Gpu& gpu, device::Borrowed& lane, std::span<const Range> ranges);
inline void launch(device::Gpu& gpu, device::Borrowed& lane, const Range& range) { launch(gpu, lane, {&range, 1}); }

/// The launches of ranges, which all have one direction, to be put into a stream by put(). The
/// constants that they read are uploaded by the lane. Throws device::Error.
std::vector<pack::cuda::Launch> plan(device::Gpu& gpu, device::Borrowed& lane, std::span<const Range> ranges);
/// Puts a launch into a stream of the current context. Throws device::Error.
void put(device::Gpu& gpu, CUstream stream, Direction direction, pack::cuda::Launch& launch);
/// Loads the kernel of a launch, so that put() does not. Throws device::Error.
void prepare(device::Gpu& gpu, const pack::cuda::Launch& launch);

/// One message from buffer to buffer, both of which the device reaches. `size`: packed bytes.
struct MoveRange {
  const Described& from;
  const Described& to;
  std::int64_t size;
};
/// Whether launch_together() takes a message.
bool fuses(const MoveRange& range);
/// Which messages share a launch.
struct Sharing {
  std::int64_t large;   // bytes; shorter messages share one if none of them is faster alone
  std::int64_t copies;  // so do contiguous messages of less than so many bytes, with all shorter ones
  bool operator==(const Sharing&) const = default;
};
/// Puts as few kernels as possible into the stream, which move messages from buffer to buffer.
/// Returns the places of the messages that are left. The same messages are planned once.
/// Thread-safe. Throws device::Error.
std::vector<std::size_t> launch_together(device::Gpu& gpu, device::Borrowed& lane, std::span<const MoveRange> ranges,
                                         const Sharing& sharing);

/// The kernels that move messages together, planned once and launched again and again. Not
/// thread-safe.
class PreparedMoves {
 public:
  /// fuses() must be true of each message.
  explicit PreparedMoves(std::span<const MoveRange> ranges);
  /// Puts the kernels into the stream. Throws device::Error.
  void launch(device::Gpu& gpu, device::Borrowed& lane);
  std::size_t messages() const { return messages_; }

 private:
  const std::size_t messages_;
  std::vector<pack::cuda::Launch> launches_;
};

/// Puts the kernel of a reduction into the stream, as pack::cuda::plan_reduction() plans it. Throws
/// device::Error.
void launch_reduction(device::Gpu& gpu, device::Borrowed& lane, pack::cuda::Element element,
                      pack::cuda::Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count, const pack::cuda::Handshake& handshake = {});

/// Puts one kernel into the stream that moves data directly from buffer to buffer; the device must
/// reach both. Returns false, and does nothing, if no kernel does that well. Throws device::Error.
bool launch_move(device::Gpu& gpu, device::Borrowed& lane, const Described& from, const Described& to);

}  // namespace dunnage::pack::gpu
