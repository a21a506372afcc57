#include "engine/gpu_remote.hpp"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>

#include "engine/gpu_launch.hpp"

namespace dunnage::engine {

using device::check;
using type::Node;

namespace {

/// Through staging memory on the device go pieces of this size: large enough for the link, small enough that the two kernels of
/// neighbouring pieces overlap.
constexpr std::int64_t remote_piece = 8 << 20;

/// The same description comes again and again.
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
    type::Layout layout;
    layout.data = data;
    layout.size = layout.extent = source.size;
    known_.push_front({source, std::make_shared<const GpuRecipe>(layout, 1)});
    if (known_.size() > most) known_.pop_back();
    return known_.front().recipe;
  }

 private:
  static bool same(const GpuSource& a, const GpuSource& b) {
    const auto n = static_cast<std::size_t>(a.levels) * sizeof a.count[0];
    return a.size == b.size && a.block == b.block && a.levels == b.levels && std::memcmp(a.count, b.count, n) == 0 && std::memcmp(a.stride, b.stride, n) == 0;
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
  static auto* all = new Recipes;  // never destroyed: calls may come from destructors at exit
  return *all;
}

/// Where bytes [begin, end) of a stream are, from the buffer's address, if they are in one piece.
std::optional<std::int64_t> contiguous(const pack::cuda::Recipe& recipe, std::int64_t begin, std::int64_t end) {
  for (const auto& part : recipe.parts())
    if (part.begin <= begin && end <= part.begin + part.size)
      return part.nest && part.geometry.levels.empty() ? std::optional(part.offset + (begin - part.begin)) : std::nullopt;
  return std::nullopt;
}

}  // namespace

std::optional<GpuSource> describe(const Described& user, const device::Exported& allocation) {
  const auto& data = user.recipe->recipe.data();
  if (!data.node) return std::nullopt;
  GpuSource source{};
  source.allocation = allocation;
  // The place is of the first byte.
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
  // All of it must be in that allocation.
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

Remote::Remote(const device::Driver& driver, const GpuSource& source)
    : driver_(driver), source_(source), gpu_(device::Gpu::current(driver)), import_(gpu_.imports().open(driver, source.allocation)),
      recipe_(recipes().of(source)) {}

Described Remote::described() const {
  const auto first = import_->begin() + static_cast<std::uintptr_t>(source_.offset);
  CUdevice device = 0;
  check(driver_, driver_.cuCtxGetDevice(&device), "cuCtxGetDevice");
  // To this device's kernels it is memory like their own.
  const device::Place place{device::Memory::device, device, gpu_.context(), first, import_->begin(), import_->begin() + source_.allocation.size};
  return {reinterpret_cast<const void*>(first - static_cast<std::uintptr_t>(recipe_->recipe.first())), recipe_, nullptr, place};
}

void Remote::pack(void* to, const device::Place& place, std::size_t piece, std::int64_t begin, std::int64_t end) const {
  gpu_pack(driver_, Direction::pack, described(), to, place, piece, begin, end);
}

void Remote::transfer(const Described& to) const {
  const auto from = described();
  const auto n = source_.size;
  const auto &theirs = recipe_->recipe, &ours = to.recipe->recipe;
  const auto address = reinterpret_cast<std::uintptr_t>(to.buffer);
  if (const auto at = contiguous(ours, 0, n)) {
    return pack(reinterpret_cast<void*>(address + static_cast<std::uintptr_t>(*at)), to.place, static_cast<std::size_t>(remote_piece), 0, n);
  }
  if (contiguous(theirs, 0, n))
    return gpu_pack(driver_, Direction::unpack, to, reinterpret_cast<void*>(from.place.address), from.place, static_cast<std::size_t>(remote_piece), 0, n);
  // Two lanes take pieces in turn; each packs from there into memory here, and unpacks.
  const auto piece = std::min(n, remote_piece);
  const auto scratch = gpu_.arena().take(static_cast<std::uint64_t>(n > piece ? 2 * piece : piece), ~std::uint64_t{0}, -1);
  if (!scratch) throw device::Error(CUDA_ERROR_OUT_OF_MEMORY, "no device memory for staging");
  device::Borrowed even(gpu_), odd(gpu_);
  int turn = 0;
  for (std::int64_t begin = 0; begin < n; begin += piece, turn ^= 1) {
    auto& lane = turn ? odd : even;
    const auto end = std::min(n, begin + piece);
    const auto between = static_cast<std::uintptr_t>(scratch->address) + static_cast<std::uintptr_t>(turn * piece);
    launch(gpu_, lane, Direction::pack, from.recipe, reinterpret_cast<std::uintptr_t>(from.buffer), between, begin, end);
    launch(gpu_, lane, Direction::unpack, to.recipe, address, between, begin, end);
  }
  even.synchronize();
  if (n > piece) odd.synchronize();
}

}  // namespace dunnage::engine
