#include "mpi/message/elements.hpp"

#include <algorithm>
#include <mutex>

namespace dunnage::mpi {

using plan::Reason;

std::optional<Extent> extent_of(const Elements& user, const KnownType* known, const pack::gpu::GpuRecipe* recipe) {
  if (user.count <= 0) return std::nullopt;
  if (recipe) {
    const auto& r = recipe->recipe;
    return r.size() ? std::optional(Extent{r.size(), r.first(), r.low(), r.high()}) : std::nullopt;
  }
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  const auto& own = process->own;
  if (user.type == MPI_DATATYPE_NULL || own.Type_size_x(user.type, &size) != MPI_SUCCESS || size <= 0)
    return std::nullopt;
  const auto bytes = type::times(user.count, size);
  if (known && known->reason() == Reason::contiguous) return Extent{bytes, 0, 0, bytes};
  if (known && known->layout().data.node) {  // MPICH's true lower bound is lower than the first byte of some types
    const auto& layout = known->layout();
    const auto reach = type::times(user.count - 1, layout.extent);
    const auto low = layout.data.offset + layout.data.node->low, high = layout.data.offset + layout.data.node->high;
    return Extent{bytes, layout.data.offset, low + std::min<std::int64_t>(reach, 0),
                  high + std::max<std::int64_t>(reach, 0)};
  }
  if (own.Type_get_extent_x(user.type, &lb, &extent) != MPI_SUCCESS ||
      own.Type_get_true_extent_x(user.type, &true_lb, &true_extent) != MPI_SUCCESS)
    return std::nullopt;
  const auto reach = type::times(user.count - 1, extent);
  return Extent{bytes, true_lb, true_lb + std::min<std::int64_t>(reach, 0),
                true_lb + true_extent + std::max<std::int64_t>(reach, 0)};
}

bool any_on_gpu(const device::Driver& driver, const Elements& user, const device::Place& place,
                const pack::gpu::GpuRecipe* recipe) {
  if (place.on_gpu()) return true;
  if (user.buffer != MPI_BOTTOM || !recipe) return false;
  const auto& parts = recipe->recipe.parts();
  return std::any_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return device::place_of(driver, user.byte(part.offset)).on_gpu(); });
}

std::shared_ptr<const pack::gpu::GpuRecipe> contiguous_recipe(std::int64_t size) {
  // Most messages are as long as the last one. Never destroyed: calls may come from destructors at
  // exit.
  static auto& mutex = *new std::mutex;
  static auto& last = *new std::shared_ptr<const pack::gpu::GpuRecipe>;
  const std::lock_guard lock(mutex);
  if (!last || last->recipe.size() != size)
    last = std::make_shared<const pack::gpu::GpuRecipe>(type::layout_of(type::block(0, size)), 1);
  return last;
}

InHost::InHost(const device::Driver& driver, const Elements& user, const Extent& extent, const device::Place& place,
               bool quirk)
    : driver_(driver) {
  base_ = const_cast<void*>(user.buffer);
  if (!place.on_gpu()) return;
  const auto margin = quirk ? std::max(extent.high - extent.low, extent.size) : 0;
  bytes_.resize(static_cast<std::size_t>(extent.high - extent.low + 2 * margin));
  const auto low = reinterpret_cast<std::uintptr_t>(user.byte(extent.low - margin));
  const auto begin = std::max(low, place.begin), end = std::min(low + bytes_.size(), place.end);
  original_ = reinterpret_cast<char*>(begin);
  copied_ = {bytes_.data() + (begin - low), end > begin ? end - begin : 0};
  base_ = bytes_.data() - (extent.low - margin);
  pack::gpu::gpu_copy(driver, copied_.data(), original_, copied_.size());  // unpacking leaves the gaps as they are
}

void InHost::write_back() const {
  if (original_) pack::gpu::gpu_copy(driver_, original_, copied_.data(), copied_.size());
}

}  // namespace dunnage::mpi
