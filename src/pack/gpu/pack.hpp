// Packs and unpacks if at least one of the two buffers is in device memory. This code chooses the
// way of the bytes, and waits until they have arrived.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu.hpp"
#include "device/place.hpp"
#include "pack/gpu/described.hpp"

namespace dunnage::pack::gpu {

/// Packs into, or unpacks from, `packed`, which holds the whole packed stream. Returns when the
/// bytes have arrived. `piece` is the size of a piece of staging memory; two pieces are used if no
/// kernel reaches both memories. Every part of both buffers may be in any kind of memory
/// (MPI_BOTTOM). Thread-safe. Throws device::Error; the bytes are then undefined. Source of the
/// staging scheme: NVIDIA's description of pipelining in CUDA-aware MPI, with two page-locked
/// pieces in turn.
void gpu_pack(const device::Driver& driver, Direction direction, const Described& user, void* packed,
              const device::Place& packed_place, std::size_t piece);
/// Moves only bytes [begin, end) of the packed stream. `packed` is still the address of byte 0.
void gpu_pack(const device::Driver& driver, Direction direction, const Described& user, void* packed,
              const device::Place& packed_place, std::size_t piece, std::int64_t begin, std::int64_t end);

/// Copies contiguous bytes between memories of any kind, and waits until they have arrived.
/// Thread-safe. Throws device::Error.
void gpu_copy(const device::Driver& driver, void* to, const void* from, std::size_t size);

}  // namespace dunnage::pack::gpu
