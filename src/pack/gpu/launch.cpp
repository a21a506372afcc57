#include "pack/gpu/launch.hpp"

#include <algorithm>
#include <list>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "device/launches.hpp"

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

CUfunction kernel_of(device::Gpu& gpu, const pack::cuda::Launch& launch) {
  return gpu.kernel(launch.id.code(), [&] { return name_of(launch.id); });
}

void put(device::Gpu& gpu, device::Borrowed& lane, Direction direction, pack::cuda::Launch& launch) {
  if (std::holds_alternative<pack::cuda::Copy>(launch.parameters))
    return pack::gpu::put(gpu, lane->stream, direction, launch);
  gpu.launch({kernel_of(gpu, launch), static_cast<std::uint32_t>(launch.blocks), pack::cuda::block_threads,
              launch.shared, launch.address(), launch.size()},
             *lane);
}

pack::cuda::MoveJob job_of(const MoveRange& range) {
  return {&range.from.recipe->recipe, range.from.address(), &range.to.recipe->recipe, range.to.address(), range.size};
}

/// Whether the host knows of the end of moves sooner if the last block tells it. Blocks of longer
/// launches lose more by counting themselves (docs/decisions/0048-completion-flags.md).
bool gains_by_telling(const pack::cuda::Launch& launch) {
  constexpr std::uint64_t most_words = 1 << 18;
  return launch.id.thread_words == 1 && launch.blocks * pack::cuda::block_threads <= most_words;
}

/// The last block of a launch of moves tells its end by that flag.
void complete_by(const device::CompletionFlag& flag, pack::cuda::Launch& launch) {
  std::visit(
      [&](auto& parameters) {
        if constexpr (requires { parameters->completion; })
          parameters->completion = {reinterpret_cast<pack::cuda::CompletionCount*>(flag.count), flag.told};
      },
      launch.parameters);
}
static_assert(sizeof(pack::cuda::CompletionCount) <= device::CompletionFlags::count_bytes);

}  // namespace

void put(device::Gpu& gpu, CUstream stream, Direction direction, pack::cuda::Launch& launch) {
  const auto& driver = gpu.driver();
  if (const auto* copy = std::get_if<pack::cuda::Copy>(&launch.parameters)) {
    const auto to = direction == Direction::pack ? copy->packed : copy->user,
               from = direction == Direction::pack ? copy->user : copy->packed;
    check(driver,
          driver.cuMemcpyAsync(static_cast<CUdeviceptr>(to), static_cast<CUdeviceptr>(from),
                               static_cast<std::size_t>(copy->size), stream),
          "cuMemcpyAsync");
    device::launches.copy();
    return;
  }
  gpu.launch(kernel_of(gpu, launch), static_cast<std::uint32_t>(launch.blocks), pack::cuda::block_threads, stream,
             launch.address(), launch.shared);
}

void prepare(device::Gpu& gpu, const pack::cuda::Launch& launch) {
  if (std::holds_alternative<pack::cuda::Copy>(launch.parameters)) return;
  gpu.load(kernel_of(gpu, launch));
}

std::vector<pack::cuda::Launch> plan(device::Gpu& gpu, device::Borrowed& lane, std::span<const Range> ranges) {
  std::vector<pack::cuda::Job> jobs;
  for (const auto& range : ranges) jobs.push_back(job_of(gpu, lane, range));
  return jobs.empty() ? std::vector<pack::cuda::Launch>() : pack::cuda::plan(ranges[0].direction, jobs);
}

bool fuses(const MoveRange& range) { return pack::cuda::fuses(job_of(range)); }

PreparedMoves::PreparedMoves(std::span<const MoveRange> ranges) : messages_(ranges.size()) {
  std::vector<pack::cuda::MoveJob> jobs;
  for (const auto& range : ranges) jobs.push_back(job_of(range));
  launches_ = pack::cuda::plan_moves(jobs);
}

void PreparedMoves::launch(device::Gpu& gpu, device::Borrowed& lane) {
  lane.busy();
  if (launches_.empty()) return;
  const auto* flag = gains_by_telling(launches_.back()) ? lane.completion_flag() : nullptr;
  complete_by(flag ? *flag : device::CompletionFlag(), launches_.back());
  for (auto& launch : launches_) put(gpu, lane, Direction::pack, launch);
  if (flag) lane.completes();
}

namespace {

/// Whether a message is one copy, by the widest words.
bool copied(const MoveRange& range) {
  constexpr std::uintptr_t widest = 16;
  const auto from = range.from.recipe->recipe.contiguous(0, range.size),
             to = range.to.recipe->recipe.contiguous(0, range.size);
  if (!from || !to || !fuses(range)) return false;
  const auto begin = [](const Described& data, std::int64_t first) {
    return data.address() + static_cast<std::uintptr_t>(first);
  };
  return (begin(range.from, *from) | begin(range.to, *to) | static_cast<std::uintptr_t>(range.size)) % widest == 0;
}

/// What goes together of some messages.
struct Together {
  /// A message, by all that a plan depends on.
  struct Key {
    std::uint64_t from_recipe, to_recipe;
    std::uintptr_t from, to;
    std::int64_t size;
    bool operator==(const Key&) const = default;
  };
  std::vector<Key> keys;
  Sharing sharing;
  std::vector<std::size_t> alone;
  std::optional<PreparedMoves> prepared;

  Together(std::vector<Key> all, std::span<const MoveRange> ranges, const Sharing& how)
      : keys(std::move(all)), sharing(how) {
    std::vector<MoveRange> together;
    bool layouts = false;      // a message is contiguous on neither side
    bool long_copies = false;  // a message is long and contiguous
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const auto& range = ranges[i];
      if (!(range.size < sharing.large ? fuses(range) : range.size < sharing.copies && copied(range))) {
        alone.push_back(i);
        continue;
      }
      together.push_back(range);
      long_copies = long_copies || range.size >= sharing.large;
      layouts = layouts || !(range.from.recipe->recipe.contiguous(0, range.size) ||
                             range.to.recipe->recipe.contiguous(0, range.size));
    }
    // The kernels that only pack or unpack are faster than those that walk two layouts.
    if (together.size() >= 2 && (layouts || long_copies)) {
      prepared.emplace(together);
    } else {
      alone.resize(ranges.size());
      std::iota(alone.begin(), alone.end(), std::size_t{0});
    }
  }
};

/// Those of the latest launches, the latest in front.
struct Plans {
  static constexpr std::size_t most = 32;
  std::mutex mutex;
  std::list<Together> all;
};
Plans& plans() {
  static auto* all = new Plans;  // never destroyed, because destructors may call it at exit
  return *all;
}

/// The lock is held.
Together& together(std::list<Together>& all, std::span<const MoveRange> ranges, const Sharing& sharing) {
  std::vector<Together::Key> keys;
  keys.reserve(ranges.size());
  for (const auto& range : ranges)
    keys.push_back({range.from.recipe->id, range.to.recipe->id, range.from.address(), range.to.address(), range.size});
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Together& one) { return one.sharing == sharing && one.keys == keys; });
  if (found != all.end()) {
    all.splice(all.begin(), all, found);
  } else {
    all.emplace_front(std::move(keys), ranges, sharing);
    if (all.size() > Plans::most) all.pop_back();
  }
  return all.front();
}

}  // namespace

std::vector<std::size_t> launch_together(device::Gpu& gpu, device::Borrowed& lane, std::span<const MoveRange> ranges,
                                         const Sharing& sharing) {
  const std::lock_guard lock(plans().mutex);
  auto& plan = together(plans().all, ranges, sharing);
  if (plan.prepared) plan.prepared->launch(gpu, lane);
  return plan.alone;
}

void launch_reduction(device::Gpu& gpu, device::Borrowed& lane, pack::cuda::Element element,
                      pack::cuda::Operation operation, std::span<const std::uintptr_t> sources, std::uintptr_t to,
                      std::int64_t count, const pack::cuda::Handshake& handshake) {
  auto launch = pack::cuda::plan_reduction(element, operation, sources, to, count, handshake);
  if (launch.blocks == 0) return;
  lane.busy();
  put(gpu, lane, Direction::pack, launch);
}

bool launch_move(device::Gpu& gpu, device::Borrowed& lane, const Described& from, const Described& to) {
  auto launch = pack::cuda::plan_move(from.recipe->recipe, from.address(), to.recipe->recipe, to.address(), 0,
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
