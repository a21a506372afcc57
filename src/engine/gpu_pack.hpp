// Packing and unpacking where at least one side is in a GPU's memory: which way the bytes go, and that they are there in the end.
#pragma once

#include <atomic>
#include <memory>

#include "device/gpu.hpp"
#include "device/place.hpp"
#include "pack/cpu/program.hpp"
#include "pack/cuda/launch.hpp"

namespace dunnage::engine {

using pack::cuda::Direction;

/// A layout and a count as kernels take them, known to every device by a number of its own.
struct GpuRecipe {
  GpuRecipe(const type::Layout& layout, std::int64_t count) : recipe(layout, count) {}
  const pack::cuda::Recipe recipe;
  const std::uint64_t id = next_id.fetch_add(1, std::memory_order_relaxed);

 private:
  static inline std::atomic<std::uint64_t> next_id{1};
};

/// The user's buffer, as given to MPI. `program` is the same layout and count for the host; it may be null where that is
/// contiguous.
struct Described {
  const void* buffer;
  std::shared_ptr<const GpuRecipe> recipe;
  const pack::Program* program;
  device::Place place;    // of the first byte of the stream
};

/// Packs into, or unpacks from, `packed`, which holds the whole stream. Returns when the bytes are there. `piece`: bytes of
/// staging memory, of which two are taken where bytes change between memories that no kernel reaches. Any of the memories may be of
/// any kind, also those of the parts of one buffer (MPI_BOTTOM). Thread-safe. Throws device::Error; the bytes are then undefined.
/// Source of the staging scheme: the pipelining that NVIDIA describes for CUDA-aware MPI, of pinned pieces used in turn.
void gpu_pack(const device::Driver& driver, Direction direction, const Described& user, void* packed, const device::Place& packed_place,
              std::size_t piece);
/// The same for bytes [begin, end) of the stream only; `packed` is still where its first byte would be.
void gpu_pack(const device::Driver& driver, Direction direction, const Described& user, void* packed, const device::Place& packed_place,
              std::size_t piece, std::int64_t begin, std::int64_t end);

/// Copies contiguous bytes between memories of any kind; they are there when it returns. Throws device::Error.
void gpu_copy(const device::Driver& driver, void* to, const void* from, std::size_t size);

}  // namespace dunnage::engine
