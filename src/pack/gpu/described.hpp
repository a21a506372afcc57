// A buffer with its layout, as packing on a device takes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device/place.hpp"
#include "pack/cpu/program.hpp"
#include "pack/cuda/launch.hpp"

namespace dunnage::pack::gpu {

using pack::cuda::Direction;

/// A layout and a count in the form that kernels take. `id` identifies the recipe on every device.
struct GpuRecipe {
  GpuRecipe(const type::Layout& layout, std::int64_t count) : recipe(layout, count) {}
  const pack::cuda::Recipe recipe;
  const std::uint64_t id = next_id.fetch_add(1, std::memory_order_relaxed);

 private:
  static inline std::atomic<std::uint64_t> next_id{1};
};

/// The user's buffer, as given to MPI. `program` packs the same layout and count on the host. It
/// may be null if the data is contiguous.
struct Described {
  const void* buffer;
  std::shared_ptr<const GpuRecipe> recipe;
  const pack::Program* program;
  device::Place place;  // the place of the first byte of the packed stream

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(buffer); }
};

}  // namespace dunnage::pack::gpu
