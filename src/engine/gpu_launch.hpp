// Kernels put into a stream.
#pragma once

#include <span>

#include "device/gpu.hpp"
#include "engine/gpu_pack.hpp"

namespace dunnage::engine {

/// Bytes [begin, end) of a stream. `user`: the buffer's address as given to MPI, `packed`: where byte `begin` is, both as the device sees them.
struct Range {
  Direction direction;
  std::shared_ptr<const GpuRecipe> recipe;
  std::uintptr_t user, packed;
  std::int64_t begin, end;
};

/// Puts the kernels for these into a lane's stream, as few as can be. All are of one direction. Throws device::Error.
void launch(device::Gpu& gpu, device::Borrowed& lane, std::span<const Range> ranges);
inline void launch(device::Gpu& gpu, device::Borrowed& lane, const Range& range) { launch(gpu, lane, {&range, 1}); }

/// Puts one kernel there that moves data from buffer to buffer, both of which the device sees, where there is one that does that well. Throws
/// device::Error.
bool launch_move(device::Gpu& gpu, device::Borrowed& lane, const Described& from, const Described& to);

}  // namespace dunnage::engine
