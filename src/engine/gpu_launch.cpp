#include "engine/gpu_launch.hpp"

namespace dunnage::engine {

using device::check;

void launch(device::Gpu& gpu, device::Borrowed& lane, Direction direction, const std::shared_ptr<const GpuRecipe>& owner, std::uintptr_t user,
            std::uintptr_t packed, std::int64_t begin, std::int64_t end) {
  const auto& driver = gpu.driver();
  const auto& recipe = owner->recipe;
  pack::cuda::Job job{&recipe, user, packed, begin, end, 0};
  if (const auto size = recipe.constants_size())
    job.constants = static_cast<std::uintptr_t>(
        gpu.constants(owner->id, owner, size, [&](std::uintptr_t address) { return recipe.constants_at(address); }, *lane));
  lane.busy();
  each_launch(direction, {&job, 1}, [&](pack::cuda::Launch& launch) {
    if (const auto* copy = std::get_if<pack::cuda::Copy>(&launch.parameters)) {
      const auto to = direction == Direction::pack ? copy->packed : copy->user, from = direction == Direction::pack ? copy->user : copy->packed;
      check(driver, driver.cuMemcpyAsync(static_cast<CUdeviceptr>(to), static_cast<CUdeviceptr>(from), static_cast<std::size_t>(copy->size), lane->stream),
            "cuMemcpyAsync");
      return;
    }
    const auto kernel = gpu.kernel(launch.id.code(), [&] { return name_of(launch.id); });
    void* parameters[] = {launch.address()};
    check(driver, driver.cuLaunchKernel(kernel, static_cast<unsigned>(launch.blocks), 1, 1, pack::cuda::block_threads, 1, 1, launch.shared, lane->stream,
                                        parameters, nullptr),
          "cuLaunchKernel");
  });
}

}  // namespace dunnage::engine
