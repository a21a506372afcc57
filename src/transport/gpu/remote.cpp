#include "transport/gpu/remote.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>

#include "pack/gpu/launch.hpp"

namespace dunnage::transport::gpu {

using pack::cuda::Direction;
using pack::gpu::launch;
using pack::gpu::launch_move;
using pack::gpu::Range;

using device::check;
using type::Node;

namespace {

/// Recipes by their descriptions. Most messages have a description that came before.
class Recipes {
 public:
  std::shared_ptr<const GpuRecipe> of(const GpuSource& source) {
    const std::lock_guard lock(mutex_);
    for (auto at = known_.begin(); at != known_.end(); ++at)
      if (same(at->source, source)) {
        known_.splice(known_.begin(), known_, at);
        return known_.front().recipe;
      }
    auto data = type::block(0, source.block);
    for (auto i = source.levels; i-- > 0;) data = type::loop(source.count[i], source.stride[i], data);
    known_.push_front({source, std::make_shared<const GpuRecipe>(type::layout_of(data), 1)});
    if (known_.size() > most) known_.pop_back();
    return known_.front().recipe;
  }

 private:
  static bool same(const GpuSource& a, const GpuSource& b) {
    const auto n = static_cast<std::size_t>(a.levels) * sizeof a.count[0];
    return a.size == b.size && a.block == b.block && a.levels == b.levels && std::memcmp(a.count, b.count, n) == 0 &&
           std::memcmp(a.stride, b.stride, n) == 0;
  }
  struct Known {
    GpuSource source;
    std::shared_ptr<const GpuRecipe> recipe;
  };
  static constexpr std::size_t most = 64;
  std::mutex mutex_;
  std::list<Known> known_;
};

Recipes& recipes() {
  static auto* all = new Recipes;  // never destroyed, because destructors may call it at exit
  return *all;
}

}  // namespace

std::optional<GpuSource> describe(const Described& user, const device::Exported& allocation) {
  const auto& data = user.recipe->recipe.data();
  if (!data.node) return std::nullopt;
  GpuSource source{};
  source.allocation = allocation;
  // The place's address is that of the first byte of the stream.
  source.offset = static_cast<std::int64_t>(user.place.address - allocation.begin);
  source.size = user.recipe->recipe.size();
  const Node* node = data.node.get();
  for (; node->kind == Node::Kind::loop; node = node->child.get()) {
    if (source.levels == GpuSource::most_levels) return std::nullopt;
    source.count[source.levels] = node->count;
    source.stride[source.levels++] = node->stride;
  }
  if (node->kind != Node::Kind::block) return std::nullopt;
  source.block = node->size;
  // All of the data must be in that allocation.
  const auto low = source.offset + data.node->low, high = source.offset + data.node->high;
  if (low < 0 || high > static_cast<std::int64_t>(allocation.size)) return std::nullopt;
  return source;
}

GpuSource describe(const device::Exported& allocation, std::int64_t size) {
  GpuSource source{};
  source.allocation = allocation;
  source.size = source.block = size;
  return source;
}

GpuSource part_of(const GpuSource& source, std::int64_t begin, std::int64_t end) {
  auto part = source;
  part.offset += begin;
  part.size = part.block = end - begin;
  return part;
}

Described contiguous_at(std::uintptr_t address, std::int64_t size, const device::Place& place) {
  GpuSource contiguous{};
  contiguous.size = contiguous.block = size;
  auto there = place;
  there.address = address;
  return {reinterpret_cast<const void*>(address), recipes().of(contiguous), nullptr, there};
}

Remote::Remote(const device::Driver& driver, const GpuSource& source)
    : driver_(driver),
      source_(source),
      gpu_(device::Gpu::current(driver)),
      import_(gpu_.imports().open(driver, source.allocation)),
      recipe_(recipes().of(source)) {}

Described Remote::described() const {
  const auto first = import_->begin() + static_cast<std::uintptr_t>(source_.offset);
  CUdevice device = 0;
  check(driver_, driver_.cuCtxGetDevice(&device), "cuCtxGetDevice");
  // This device's kernels use the mapped memory as they use their own.
  const device::Place place{device::Memory::device, device,
                            gpu_.context(),         first,
                            import_->begin(),       import_->begin() + source_.allocation.size};
  return {reinterpret_cast<const void*>(first - static_cast<std::uintptr_t>(recipe_->recipe.first())), recipe_, nullptr,
          place};
}

void Remote::pack(void* to, const device::Place& place, std::size_t piece, std::int64_t begin, std::int64_t end) const {
  gpu_pack(driver_, Direction::pack, described(), to, place, piece, begin, end);
}

/// Scratch memory for messages of which neither side is contiguous, and which no single kernel
/// moves. Two streams take pieces in turn: each packs a piece from the sender's memory into scratch
/// memory, and unpacks it from there.
class Transfers::Scratch {
 public:
  Scratch(device::Gpu& gpu, std::int64_t piece)
      : gpu_(gpu),
        piece_(piece),
        memory_(gpu.arena().take(static_cast<std::uint64_t>(2 * piece), ~std::uint64_t{0}, -1)),
        lanes_{device::Borrowed(gpu), device::Borrowed(gpu)} {
    if (!memory_) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for staging");
  }
  void add(const Described& from, const Described& to, std::int64_t n) {
    for (std::int64_t begin = 0; begin < n; begin += piece_, turn_ ^= 1) {
      const auto end = std::min(n, begin + piece_);
      const auto between = static_cast<std::uintptr_t>(memory_->address) + static_cast<std::uintptr_t>(turn_ * piece_);
      launch(gpu_, lanes_[turn_],
             {Direction::pack, from.recipe, reinterpret_cast<std::uintptr_t>(from.buffer), between, begin, end});
      launch(gpu_, lanes_[turn_],
             {Direction::unpack, to.recipe, reinterpret_cast<std::uintptr_t>(to.buffer), between, begin, end});
    }
  }
  bool done() { return lanes_[0].done() && lanes_[1].done(); }

 private:
  device::Gpu& gpu_;
  const std::int64_t piece_;
  const std::shared_ptr<const device::Arena::Block>
      memory_;  // declared before the lanes, so that it is given back after them
  device::Borrowed lanes_[2];
  int turn_ = 0;
};

device::Borrowed& Transfers::lane_for(std::int64_t bytes) {
  if (bytes < large || ++turn_ % 2 == 0) return lane_;
  if (!second_) second_.emplace(gpu_);
  return *second_;
}

bool Transfers::from_several(Moves moves) {
  std::int32_t first = -1;
  for (const auto* move : moves) {
    if (move->owner < 0 || move->size < large || move->size >= most_by_kernels) continue;
    if (first >= 0 && move->owner != first) return true;
    first = move->owner;
  }
  return false;
}

std::vector<std::size_t> Transfers::begin_together(Moves moves) {
  if (moves.size() == 1) return {0};  // by far the most frequent case
  std::vector<pack::gpu::MoveRange> ranges;
  ranges.reserve(moves.size());
  for (const auto* move : moves) ranges.push_back({move->from, move->to, move->size});
  return pack::gpu::launch_together(gpu_, lane_, ranges, {large, from_several(moves) ? most_by_kernels : 0});
}

Transfers::Transfers(device::Gpu& gpu, Moves moves, std::size_t piece) : gpu_(gpu), lane_(gpu_) {
  std::vector<Range> packs, unpacks;
  std::vector<std::pair<Described, const Move*>> others;
  std::int64_t longest = 0;
  for (const auto alone : begin_together(moves)) {
    const auto& move = *moves[alone];
    const auto n = move.size;
    const auto user = reinterpret_cast<std::uintptr_t>(move.to.buffer);
    const auto& from = move.from;
    auto& lane = moves.size() > 1 ? lane_for(n) : lane_;
    const auto put = [&](std::vector<Range>& small, const Range& range) {
      if (n < large)
        small.push_back(range);
      else
        launch(gpu_, lane, range);
    };
    if (const auto first = from.recipe->recipe.contiguous(0, n)) {
      const auto packed = reinterpret_cast<std::uintptr_t>(from.buffer) + static_cast<std::uintptr_t>(*first);
      put(unpacks, {Direction::unpack, move.to.recipe, user, packed, 0, n});
    } else if (const auto at = move.to.recipe->recipe.contiguous(0, n)) {
      put(packs, {Direction::pack, from.recipe, reinterpret_cast<std::uintptr_t>(from.buffer),
                  user + static_cast<std::uintptr_t>(*at), 0, n});
    } else if (!launch_move(gpu_, lane, from, move.to)) {
      others.emplace_back(from, &move);
      longest = std::max(longest, n);
    }
  }
  launch(gpu_, lane_, unpacks);
  launch(gpu_, lane_, packs);
  if (others.empty()) return;
  scratch_ = std::make_unique<Scratch>(gpu_, std::min(longest, static_cast<std::int64_t>(piece)));
  for (const auto& [from, move] : others) scratch_->add(from, move->to, move->size);
}

Transfers::~Transfers() = default;

bool Transfers::done() { return lane_.done() && (!second_ || second_->done()) && (!scratch_ || scratch_->done()); }

}  // namespace dunnage::transport::gpu
