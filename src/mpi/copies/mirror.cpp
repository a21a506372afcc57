#include "mpi/copies/mirror.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace dunnage::mpi {
namespace {

using pack::gpu::Direction;
using plan::Reason;

// Addresses may be far apart (MPI_BOTTOM): a copy that is so much larger than its data is made of
// pages that come when they are touched.
constexpr std::int64_t sparse_from = 64 << 20, sparse_ratio = 16;
constexpr std::int64_t line = 64;

bool understood(const KnownType* known) {
  return known && (known->reason() == Reason::accelerated || known->reason() == Reason::contiguous);
}

/// Where the bytes of some elements are.
type::Placed data_of(const Segment& segment, const KnownType& known) {
  type::Placed data;
  if (known.layout().size == 0 &&
      known.reason() == Reason::contiguous) {  // a predefined type that has not told its size
    MPI_Count size = 0;
    process->own.Type_size_x(segment.type, &size);
    data = type::block(0, type::times(segment.count, size));
  } else {
    data = type::loop(segment.count, known.layout().extent, known.layout().data);
  }
  data.offset = type::plus(data.offset, segment.offset);
  return data;
}

}  // namespace

std::unique_ptr<Mirror> Mirror::of(const device::Driver& driver, Role role, const void* buffer,
                                   std::span<const Segment> segments) {
  std::unique_ptr<Mirror> mirror(new Mirror(driver, role, buffer));
  mirror->plan(segments);
  if (!mirror->place_.on_gpu()) return nullptr;
  const auto size = mirror->high_ - mirror->low_ + 2 * mirror->margin_;
  const auto bytes = mirror->data_.node ? mirror->data_.node->size : size;
  // Elements are as aligned as the program has them.
  const auto skew = static_cast<std::int64_t>(
      reinterpret_cast<std::uintptr_t>(mirror->buffer_.byte(mirror->low_ - mirror->margin_)) % line);
  mirror->memory_ = mirror->memory(static_cast<std::size_t>(size + skew),
                                   mirror->exact_ && size > sparse_from && size / sparse_ratio > bytes);
  mirror->base_ = mirror->memory_.data() + skew - (mirror->low_ - mirror->margin_);
  if (!mirror->exact_ && role != Role::send) mirror->learn_written(segments);
  return mirror;
}

void Mirror::plan(std::span<const Segment> segments) {
  std::vector<type::Placed> parts;
  low_ = std::numeric_limits<std::int64_t>::max();
  high_ = std::numeric_limits<std::int64_t>::min();
  const auto look_at = [&](std::int64_t offset) {
    if (place_.on_gpu()) return;
    const auto place = device::place_of(driver_, buffer_.byte(offset));
    if (place.on_gpu()) place_ = place;
  };
  for (const auto& segment : segments) {
    if (segment.count <= 0) continue;
    const auto* known = known_type(segment.type);
    if (understood(known)) {
      const auto data = data_of(segment, *known);
      if (!data.node) continue;
      low_ = std::min(low_, data.offset + data.node->low);
      high_ = std::max(high_, data.offset + data.node->high);
      parts.push_back(data);
      look_at(data.offset);
    } else if (const auto extent = extent_of({buffer_.buffer, segment.count, segment.type}, nullptr, nullptr)) {
      exact_ = false;
      low_ = std::min(low_, segment.offset + extent->low);
      high_ = std::max(high_, segment.offset + extent->high);
      // Open MPI takes blocks that fall and overlap for contiguous ones, and reaches further than
      // it should.
      margin_ = std::max({margin_, extent->high - extent->low, extent->size});
      look_at(segment.offset + extent->first);
    }
  }
  if (low_ >= high_) return;
  data_ = parts.size() == 1 ? parts[0] : type::concat(parts);
  if (!exact_) {
    data_ = {};
    const auto at = [&](std::int64_t offset) { return reinterpret_cast<std::uintptr_t>(buffer_.byte(offset)); };
    if (place_.on_gpu() && (at(low_) < place_.begin || at(high_) > place_.end))
      throw device::Error(CUDA_ERROR_INVALID_VALUE,
                          "a datatype that only the MPI can pack reaches outside the memory that it begins in");
    return;
  }
  const bool absolute = buffer_.buffer == MPI_BOTTOM;
  if (!place_.on_gpu() && !absolute) return;
  if (data_.node->kind == type::Node::Kind::block && !absolute) return;
  const auto& only = segments.front();
  if (const auto* known = segments.size() == 1 && only.offset == 0 ? known_type(only.type) : nullptr;
      known && known->reason() == Reason::accelerated) {
    recipe_ = known->recipe(only.count);
    program_ = known->program(only.count);
  } else {
    recipe_ = std::make_shared<const pack::gpu::GpuRecipe>(type::layout_of(data_), 1);
    program_ = std::make_shared<const pack::Program>(type::layout_of(data_), 1);
  }
  if (absolute)
    for (const auto& part : recipe_->recipe.parts()) look_at(part.offset);
}

void Mirror::learn_written(std::span<const Segment> segments) {
  // The MPI itself shows which bytes it writes, in whatever order.
  const auto size = static_cast<std::size_t>(high_ - low_ + 2 * margin_);
  auto* const begin = byte(low_ - margin_);
  std::fill(begin, begin + size, char{0});
  for (const auto& segment : segments) {
    if (segment.count <= 0) continue;
    const auto extent = extent_of({buffer_.buffer, segment.count, segment.type}, nullptr, nullptr);
    if (!extent) continue;
    if (std::max(segment.count, extent->size) > std::numeric_limits<int>::max())
      throw std::length_error("too large for MPI_Unpack");
    const std::vector<char> ones(static_cast<std::size_t>(extent->size), '\xff');
    int at = 0;
    process->own.Unpack(ones.data(), static_cast<int>(extent->size), &at, byte(segment.offset),
                        static_cast<int>(segment.count), segment.type, MPI_COMM_SELF);
  }
  type::Ints offsets, lengths;
  for (std::size_t i = 0; i < size;) {
    const auto* from = std::find(begin + i, begin + size, '\xff');
    const auto* to = std::find(from, static_cast<const char*>(begin + size), '\0');
    i = static_cast<std::size_t>(to - begin);
    // What is not the program's is not written, whatever the MPI does.
    const auto address =
        reinterpret_cast<std::uintptr_t>(buffer_.byte(low_ - margin_)) + static_cast<std::uintptr_t>(from - begin);
    const auto first = std::max(address, place_.begin),
               last = std::min(address + static_cast<std::uintptr_t>(to - from), place_.end);
    if (first >= last) continue;
    offsets.push_back(static_cast<std::int64_t>(first - reinterpret_cast<std::uintptr_t>(buffer_.buffer)));
    lengths.push_back(static_cast<std::int64_t>(last - first));
  }
  data_ = type::list(std::move(offsets), std::move(lengths));
  if (!data_.node) return;
  recipe_ = std::make_shared<const pack::gpu::GpuRecipe>(type::layout_of(data_), 1);
  program_ = std::make_shared<const pack::Program>(type::layout_of(data_), 1);
}

memory::HostMemory Mirror::memory(std::size_t size, bool sparse) const {
  return {driver_, place_, size, process->settings.staging_pool, sparse};
}

void Mirror::through_packed(Direction direction) const {
  const auto size = program_->size();
  const auto packed = memory(static_cast<std::size_t>(size));
  const auto place = device::known_place(driver_, packed.data());
  const pack::gpu::Described user{buffer_.buffer, recipe_, program_.get(),
                                  device::place_of(driver_, buffer_.byte(recipe_->recipe.first()))};
  if (direction == Direction::unpack) program_->pack(base_, packed.data(), 0, size, pack::Stores::cached);
  pack::gpu::gpu_pack(driver_, direction, user, packed.data(), place, process->settings.device_piece);
  if (direction == Direction::pack) program_->unpack(packed.data(), base_, 0, size, pack::Stores::cached);
}

void Mirror::gather() const {
  if (role_ == Role::receive) return;
  if (!exact_) {
    // All of it, since only the MPI knows what it reads.
    const auto low = reinterpret_cast<std::uintptr_t>(buffer_.byte(low_ - margin_)),
               high = reinterpret_cast<std::uintptr_t>(buffer_.byte(high_ + margin_));
    const auto begin = std::max(low, place_.begin), end = std::min(high, place_.end);
    const auto offset = static_cast<std::int64_t>(begin - reinterpret_cast<std::uintptr_t>(buffer_.buffer));
    if (begin < end) pack::gpu::gpu_copy(driver_, byte(offset), buffer_.byte(offset), end - begin);
  } else if (recipe_) {
    through_packed(Direction::pack);
  } else {
    pack::gpu::gpu_copy(driver_, byte(data_.offset), buffer_.byte(data_.offset),
                        static_cast<std::size_t>(data_.node->size));
  }
}

void Mirror::deliver() const {
  if (role_ == Role::send || !data_.node) return;
  if (recipe_)
    through_packed(Direction::unpack);
  else
    pack::gpu::gpu_copy(driver_, const_cast<char*>(buffer_.byte(data_.offset)), byte(data_.offset),
                        static_cast<std::size_t>(data_.node->size));
}

}  // namespace dunnage::mpi
