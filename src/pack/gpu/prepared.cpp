#include "pack/gpu/prepared.hpp"

#include <fmt/format.h>

#include "pack/gpu/kernel_codes.hpp"

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

/// The most entries of a launch whose last block can tell others; 0 if it cannot.
template <class Parameters>
constexpr int telling_entries = 0;
template <int N>
constexpr int telling_entries<std::unique_ptr<pack::cuda::CompletingMoves<N>>> = N;

/// Calls f<N>(parameters) if the last block of a launch can tell others. Returns whether it can.
template <class F>
bool if_tells(const pack::cuda::Launch& launch, F&& f) {
  return std::visit(
      [&](const auto& parameters) {
        constexpr int entries = telling_entries<std::remove_cvref_t<decltype(parameters)>>;
        if constexpr (entries > 0) f.template operator()<entries>(*parameters);
        return entries > 0;
      },
      launch.parameters);
}

template <int N>
CUfunction telling_kernel(device::Gpu& gpu) {
  return gpu.kernel(telling_code(N), [] { return fmt::format("moves_tell_n{}", N); });
}

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
  if (!together.empty()) add(gpu, Direction::pack, pack::cuda::plan_moves(together, true));
  add(gpu, Direction::pack, std::move(alone));
  add(gpu, Direction::unpack, plan(gpu, lane, unpacks));
  add(gpu, Direction::pack, plan(gpu, lane, packs));
  add(gpu, Direction::unpack, plan(gpu, lane, later));  // after the packs that write the scratch memory
  if (!steps_.empty()) if_tells(steps_.back().launch, [&]<int N>(const auto&) { gpu.load(telling_kernel<N>(gpu)); });
}

void Prepared::put(device::Gpu& gpu, CUstream stream) {
  for (auto& step : steps_) pack::gpu::put(gpu, stream, step.direction, step.launch);
}

bool Prepared::put(device::Gpu& gpu, CUstream stream, const pack::cuda::Signal& before, const pack::cuda::Signal& after,
                   std::uint32_t* finished) {
  if (steps_.empty()) return false;
  const auto& last = steps_.back().launch;
  if (!if_tells(last, []<int>(const auto&) {})) return false;
  for (auto& step : std::span(steps_).first(steps_.size() - 1))
    pack::gpu::put(gpu, stream, step.direction, step.launch);
  return if_tells(last, [&]<int N>(const pack::cuda::CompletingMoves<N>& moves) {
    pack::cuda::TellingMoves<N> all{before, after, finished, moves.moves};
    gpu.launch(telling_kernel<N>(gpu), static_cast<std::uint32_t>(last.blocks), pack::cuda::block_threads, stream,
               &all);
  });
}

std::uint64_t Prepared::waiting_blocks() const {
  const bool can = steps_.size() == 1 && if_tells(steps_.front().launch, []<int>(const auto&) {});
  return can ? static_cast<std::uint64_t>(steps_.front().launch.blocks) : 0;
}

std::optional<pack::cuda::SmallExchange> Prepared::small(const pack::cuda::Signal& before,
                                                         const pack::cuda::Signal& after) const {
  pack::cuda::SmallExchange all;
  all.before = before;
  all.after = after;
  if (steps_.empty()) return all;
  if (steps_.size() > 1 || steps_.front().launch.blocks > pack::cuda::most_small_blocks) return std::nullopt;
  using Eight = std::unique_ptr<pack::cuda::CompletingMoves<8>>;
  const auto* moves = std::get_if<Eight>(&steps_.front().launch.parameters);
  if (!moves) return std::nullopt;
  all.blocks = static_cast<std::uint32_t>(steps_.front().launch.blocks);
  all.moves = (*moves)->moves;
  return all;
}

}  // namespace dunnage::pack::gpu
