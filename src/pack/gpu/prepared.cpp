#include "pack/gpu/prepared.hpp"

namespace dunnage::pack::gpu {
namespace {

std::optional<pack::cuda::Launch> single(const MoveRange& range) {
  const auto& from = range.from.recipe->recipe;
  if (from.size() != range.size) return std::nullopt;
  return pack::cuda::plan_move(from, range.from.address(), range.to.recipe->recipe, range.to.address(), 0, range.size);
}

bool one_side_contiguous(const MoveRange& range) {
  return range.from.recipe->recipe.contiguous(0, range.size) || range.to.recipe->recipe.contiguous(0, range.size);
}

/// Parts begin where kernels move the widest words.
constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

bool by_scratch(const MoveRange& range) {
  return range.size > 0 && !fuses(range) && !one_side_contiguous(range) && !single(range);
}

}  // namespace

std::int64_t Prepared::scratch_size(std::span<const MoveRange> ranges) {
  std::int64_t size = 0;
  for (const auto& range : ranges)
    if (by_scratch(range)) size += aligned(range.size);
  return size;
}

void Prepared::add(device::Gpu& gpu, Direction direction, std::vector<pack::cuda::Launch> launches) {
  for (auto& launch : launches) {
    prepare(gpu, launch);
    steps_.push_back({direction, std::move(launch)});
  }
}

Prepared::Prepared(device::Gpu& gpu, std::span<const MoveRange> ranges, CUdeviceptr scratch) {
  device::Borrowed lane(gpu);
  std::vector<pack::cuda::MoveJob> together;
  std::vector<Range> packs, unpacks, later;
  std::vector<pack::cuda::Launch> alone;
  for (const auto& range : ranges) {
    if (range.size == 0) continue;
    recipes_.push_back(range.from.recipe);
    recipes_.push_back(range.to.recipe);
    const auto &from = range.from.recipe->recipe, &to = range.to.recipe->recipe;
    if (fuses(range)) {
      together.push_back({&from, range.from.address(), &to, range.to.address(), range.size});
    } else if (const auto first = from.contiguous(0, range.size)) {
      unpacks.push_back({Direction::unpack, range.to.recipe, range.to.address(),
                         range.from.address() + static_cast<std::uintptr_t>(*first), 0, range.size});
    } else if (const auto at = to.contiguous(0, range.size)) {
      packs.push_back({Direction::pack, range.from.recipe, range.from.address(),
                       range.to.address() + static_cast<std::uintptr_t>(*at), 0, range.size});
    } else if (auto launch = single(range)) {
      alone.push_back(std::move(*launch));
    } else {
      const auto between = static_cast<std::uintptr_t>(scratch);
      scratch += static_cast<CUdeviceptr>(aligned(range.size));
      packs.push_back({Direction::pack, range.from.recipe, range.from.address(), between, 0, range.size});
      later.push_back({Direction::unpack, range.to.recipe, range.to.address(), between, 0, range.size});
    }
  }
  if (!together.empty()) add(gpu, Direction::pack, pack::cuda::plan_moves(together));
  add(gpu, Direction::pack, std::move(alone));
  add(gpu, Direction::unpack, plan(gpu, lane, unpacks));
  add(gpu, Direction::pack, plan(gpu, lane, packs));
  add(gpu, Direction::unpack, plan(gpu, lane, later));  // after the packs that write the scratch memory
}

void Prepared::put(device::Gpu& gpu, CUstream stream) {
  for (auto& step : steps_) pack::gpu::put(gpu, stream, step.direction, step.launch);
}

std::optional<pack::cuda::SmallExchange> Prepared::small(const pack::cuda::Signal& before,
                                                         const pack::cuda::Signal& after) const {
  pack::cuda::SmallExchange all;
  all.before = before;
  all.after = after;
  if (steps_.empty()) return all;
  if (steps_.size() > 1 || steps_.front().launch.blocks > pack::cuda::most_small_blocks) return std::nullopt;
  using Eight = std::unique_ptr<pack::cuda::Fused<8, pack::cuda::FusedMove>>;
  const auto* moves = std::get_if<Eight>(&steps_.front().launch.parameters);
  if (!moves) return std::nullopt;
  all.blocks = static_cast<std::uint32_t>(steps_.front().launch.blocks);
  all.moves = **moves;
  return all;
}

}  // namespace dunnage::pack::gpu
