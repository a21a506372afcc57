#include "pack/gpu/launch.hpp"

#include <vector>

namespace dunnage::pack::gpu {
namespace {

using device::check;

pack::cuda::Job job_of(device::Gpu& gpu, device::Borrowed& lane, const Range& range) {
  const auto& recipe = range.recipe->recipe;
  pack::cuda::Job job{&recipe, range.user, range.packed, range.begin, range.end, 0};
  if (const auto size = recipe.constants_size())
    job.constants = static_cast<std::uintptr_t>(gpu.constants(
        range.recipe->id, range.recipe, size, [&](std::uintptr_t address) { return recipe.constants_at(address); },
        *lane));
  return job;
}

void put(device::Gpu& gpu, device::Borrowed& lane, Direction direction, pack::cuda::Launch& launch) {
  const auto& driver = gpu.driver();
  if (const auto* copy = std::get_if<pack::cuda::Copy>(&launch.parameters)) {
    const auto to = direction == Direction::pack ? copy->packed : copy->user,
               from = direction == Direction::pack ? copy->user : copy->packed;
    check(driver,
          driver.cuMemcpyAsync(static_cast<CUdeviceptr>(to), static_cast<CUdeviceptr>(from),
                               static_cast<std::size_t>(copy->size), lane->stream),
          "cuMemcpyAsync");
    return;
  }
  const auto kernel = gpu.kernel(launch.id.code(), [&] { return name_of(launch.id); });
  void* parameters[] = {launch.address()};
  check(driver,
        driver.cuLaunchKernel(kernel, static_cast<unsigned>(launch.blocks), 1, 1, pack::cuda::block_threads, 1, 1,
                              launch.shared, lane->stream, parameters, nullptr),
        "cuLaunchKernel");
}

std::uintptr_t address(const Described& data) { return reinterpret_cast<std::uintptr_t>(data.buffer); }

pack::cuda::MoveJob job_of(const MoveRange& range) {
  return {&range.from.recipe->recipe, address(range.from), &range.to.recipe->recipe, address(range.to), range.size};
}

}  // namespace

bool fuses(const MoveRange& range) { return pack::cuda::fuses(job_of(range)); }

PreparedMoves::PreparedMoves(std::span<const MoveRange> ranges) {
  std::vector<pack::cuda::MoveJob> jobs;
  for (const auto& range : ranges) jobs.push_back(job_of(range));
  launches_ = pack::cuda::plan_moves(jobs);
}

void PreparedMoves::launch(device::Gpu& gpu, device::Borrowed& lane) {
  lane.busy();
  for (auto& launch : launches_) put(gpu, lane, Direction::pack, launch);
}

void launch_moves(device::Gpu& gpu, device::Borrowed& lane, std::span<const MoveRange> ranges) {
  PreparedMoves(ranges).launch(gpu, lane);
}

bool launch_move(device::Gpu& gpu, device::Borrowed& lane, const Described& from, const Described& to) {
  auto launch = pack::cuda::plan_move(from.recipe->recipe, address(from), to.recipe->recipe, address(to), 0,
                                      from.recipe->recipe.size());
  if (!launch) return false;
  lane.busy();
  put(gpu, lane, Direction::pack, *launch);
  return true;
}

void launch(device::Gpu& gpu, device::Borrowed& lane, std::span<const Range> ranges) {
  if (ranges.empty()) return;
  const auto direction = ranges[0].direction;
  if (ranges.size() == 1) {  // by far the most frequent case
    const auto job = job_of(gpu, lane, ranges[0]);
    lane.busy();
    return each_launch(direction, {&job, 1}, [&](auto& launch) { put(gpu, lane, direction, launch); });
  }
  std::vector<pack::cuda::Job> jobs;
  for (const auto& range : ranges) jobs.push_back(job_of(gpu, lane, range));
  lane.busy();
  each_launch(direction, jobs, [&](auto& launch) { put(gpu, lane, direction, launch); });
}

}  // namespace dunnage::pack::gpu
