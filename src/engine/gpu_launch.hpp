// Kernels put into a stream.
#pragma once

#include "device/gpu.hpp"
#include "engine/gpu_pack.hpp"

namespace dunnage::engine {

/// Those that pack or unpack bytes [begin, end) of the stream. `user`: the buffer's address as given to MPI, `packed`: where byte `begin` is,
/// both as the device sees them. Throws device::Error.
void launch(device::Gpu& gpu, device::Borrowed& lane, Direction direction, const std::shared_ptr<const GpuRecipe>& recipe, std::uintptr_t user,
            std::uintptr_t packed, std::int64_t begin, std::int64_t end);

}  // namespace dunnage::engine
