// Puts pack and unpack kernels into a CUDA stream.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device/gpu.hpp"
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

/// Puts one kernel into the stream that moves data directly from buffer to buffer; the device must
/// reach both. Returns false, and does nothing, if no kernel does that well. Throws device::Error.
bool launch_move(device::Gpu& gpu, device::Borrowed& lane, const Described& from, const Described& to);

}  // namespace dunnage::pack::gpu
