#include "mpi/message/buffer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "device/surely_host.hpp"
#include "mpi/message/elements.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

using device::surely_host;
using plan::Reason;

/// A datatype of ours with the elements of the program's, which may free its own meanwhile. Not a
/// duplicate, which would call the program's attribute functions.
class BufferType {
 public:
  explicit BufferType(MPI_Datatype type) {
    if (process->own.Type_contiguous(1, type, &type_) != MPI_SUCCESS || process->own.Type_commit(&type_) != MPI_SUCCESS)
      throw std::bad_alloc();
  }
  BufferType(const BufferType&) = delete;
  BufferType& operator=(const BufferType&) = delete;
  ~BufferType() { process->own.Type_free(&type_); }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Packed by kernels.
class OnGpu : public memory::Packer {
 public:
  OnGpu(const device::Driver& driver, const Elements& user, std::shared_ptr<const pack::gpu::GpuRecipe> recipe,
        std::shared_ptr<const pack::Program> program, const device::Place& place)
      : driver_(driver),
        program_(std::move(program)),
        described_{user.buffer, std::move(recipe), program_.get(), place} {}
  std::int64_t size() const override { return described_.recipe->recipe.size(); }
  void pack(char* to, std::int64_t begin, std::int64_t end) const override {
    run(pack::gpu::Direction::pack, to, begin, end);
  }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const override {
    run(pack::gpu::Direction::unpack, const_cast<char*>(from), begin, end);
  }
  const pack::gpu::Described* device() const override { return &described_; }

 private:
  /// `packed` is where byte `begin` is.
  void run(pack::gpu::Direction direction, char* packed, std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return;
    auto base = device::known_place(driver_, packed);
    base.address -= static_cast<std::uintptr_t>(begin);
    auto* const first =
        reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(packed) - static_cast<std::uintptr_t>(begin));
    pack::gpu::gpu_pack(driver_, direction, described_, first, base, process->settings.device_piece, begin, end);
  }

  const device::Driver& driver_;
  const std::shared_ptr<const pack::Program> program_;
  const pack::gpu::Described described_;
};

/// Packed by the MPI in a copy in host memory: datatypes that the MPI packs in an order of its own,
/// or that are unknown. Every call packs all of the buffer, whatever range is asked for.
class OnGpuByMpi : public memory::Packer {
 public:
  OnGpuByMpi(const device::Driver& driver, const Elements& user, const Extent& extent, const device::Place& place,
             bool quirk)
      : driver_(driver),
        type_(user.type),
        user_{user.buffer, user.count, type_.get()},
        extent_(extent),
        place_(place),
        quirk_(quirk) {}
  std::int64_t size() const override { return extent_.size; }
  bool whole() const override { return true; }
  void pack(char* to, std::int64_t begin, std::int64_t end) const override {
    const InHost host(driver_, user_, extent_, place_, quirk_);
    const auto packed = packed_bytes(host);
    std::copy(packed.begin() + begin, packed.begin() + end, to);
  }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const override {
    const InHost host(driver_, user_, extent_, place_, quirk_);
    // What has come is whole elements of basic types, but perhaps not of this one: the other bytes
    // keep their values.
    auto packed = packed_bytes(host);
    std::copy(from, from + (end - begin), packed.begin() + begin);
    int at = 0;
    process->own.Unpack(packed.data(), static_cast<int>(packed.size()), &at, host.base(), static_cast<int>(user_.count),
                        user_.type, MPI_COMM_SELF);
    host.write_back();
  }

 private:
  std::vector<char> packed_bytes(const InHost& host) const {
    std::vector<char> packed(static_cast<std::size_t>(extent_.size));
    int at = 0;
    process->own.Pack(host.base(), static_cast<int>(user_.count), user_.type, packed.data(),
                      static_cast<int>(packed.size()), &at, MPI_COMM_SELF);
    return packed;
  }

  const device::Driver& driver_;
  const BufferType type_;
  const Elements user_;
  const Extent extent_;
  const device::Place place_;
  const bool quirk_;
};

/// Host memory packed by the MPI. What is unpacked is collected, and goes to its place in finish().
class OnHostByMpi : public memory::Packer {
 public:
  OnHostByMpi(void* user, std::int64_t count, MPI_Datatype type) : user_(static_cast<char*>(user)), type_(type) {
    MPI_Count size = 0;
    process->own.Type_size_x(type, &size);
    element_ = std::max<std::int64_t>(size, 1);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    size_ = size > most / std::max<std::int64_t>(count, 1) ? most : count * size;
  }
  std::int64_t size() const override { return size_; }
  bool whole() const override { return false; }
  void pack(char* to, std::int64_t begin, std::int64_t end) const override {
    const auto elements = (end + element_ - 1) / element_;
    std::vector<char> packed(static_cast<std::size_t>(elements * element_));
    int at = 0;
    process->own.Pack(user_, static_cast<int>(elements), type_.get(), packed.data(), static_cast<int>(packed.size()),
                      &at, MPI_COMM_SELF);
    std::memcpy(to, packed.data() + begin, static_cast<std::size_t>(end - begin));
  }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const override {
    collected_.insert(collected_.end(), from, from + (end - begin));
  }
  void settle(std::int64_t end) const override {
    collected_.resize(static_cast<std::size_t>(end));
    pack(collected_.data(), 0, end);
  }
  void restart() const override { collected_.clear(); }
  void finish() const override {
    if (collected_.empty()) return;
    const auto size = static_cast<std::int64_t>(collected_.size()), elements = (size + element_ - 1) / element_;
    collected_.resize(static_cast<std::size_t>(elements * element_));
    // The bytes of the last element that did not come keep their values.
    if (size < elements * element_) pack(collected_.data() + size, size, elements * element_);
    int at = 0;
    process->own.Unpack(collected_.data(), static_cast<int>(collected_.size()), &at, user_, static_cast<int>(elements),
                        type_.get(), MPI_COMM_SELF);
    collected_.clear();
  }

 private:
  char* const user_;
  const BufferType type_;
  std::int64_t element_ = 1, size_ = 0;
  mutable std::vector<char> collected_;  // one operation at a time uses a receive buffer
};

}  // namespace

std::optional<memory::Buffer> on_gpu(const void* buffer, std::int64_t count, MPI_Datatype type,
                                     const KnownType* known) {
  const auto* driver = device::driver();
  if (!driver) return std::nullopt;
  const Elements user{buffer, count, type};
  // Most often the first byte tells, before anything else is found out.
  const bool understood = known && (known->reason() == Reason::accelerated || known->reason() == Reason::contiguous);
  const bool located = understood && buffer != MPI_BOTTOM;
  const void* first = nullptr;
  device::Place place;
  if (located) {
    first = user.byte(known->layout().data.offset);
    if (surely_host(first)) return std::nullopt;
    place = device::known_place(*driver, first);
    if (!place.on_gpu()) return std::nullopt;
  }
  const bool derived = known && known->reason() == Reason::accelerated && count > 0;
  auto recipe = derived ? known->recipe(count) : nullptr;
  const auto extent = extent_of(user, known, recipe.get());
  if (!extent) return std::nullopt;
  if (const auto* begin = user.byte(extent->first); !located || begin != first)
    place = device::known_place(*driver, begin);
  if (!any_on_gpu(*driver, user, place, recipe.get())) return std::nullopt;
  see_gpu(user.byte(extent->first));
  if (derived)
    return memory::Buffer(
        std::make_shared<const OnGpu>(*driver, user, std::move(recipe), known->program(count), place));
  if (known && known->reason() == Reason::contiguous)
    return memory::Buffer(
        std::make_shared<const OnGpu>(*driver, user, contiguous_recipe(extent->size), nullptr, place));
  const bool quirk = known && known->reason() == Reason::library_quirk;
  return memory::Buffer(std::make_shared<const OnGpuByMpi>(*driver, user, *extent, place, quirk));
}

std::optional<Extent> placed_on_gpu(const device::Driver& driver, const Elements& user, device::Place place,
                                    memory::Buffer& buffer) {
  const auto* known = known_type(user.type);
  std::shared_ptr<const pack::gpu::GpuRecipe> recipe;
  std::shared_ptr<const pack::Program> program;
  if (user.count > 0 && known && known->reason() == Reason::accelerated) {
    recipe = known->recipe(user.count);
    program = known->program(user.count);
  } else if (user.count > 0 && !known && user.type != MPI_DATATYPE_NULL) {  // committed where nobody saw it
    try {
      const auto layout = type::layout_of(*decode(user.type));
      recipe = std::make_shared<const pack::gpu::GpuRecipe>(layout, user.count);
      program = std::make_shared<const pack::Program>(layout, user.count);
    } catch (const type::SpecError&) {  // the MPI's own functions serve
    }
  }
  const auto extent = extent_of(user, known, recipe.get());
  if (!extent) return std::nullopt;
  place.address = reinterpret_cast<std::uintptr_t>(user.byte(extent->first));
  if (recipe)
    buffer = memory::Buffer(std::make_shared<const OnGpu>(driver, user, std::move(recipe), std::move(program), place));
  else if (known && known->reason() == Reason::contiguous)
    buffer =
        memory::Buffer(std::make_shared<const OnGpu>(driver, user, contiguous_recipe(extent->size), nullptr, place));
  else
    buffer = memory::Buffer(std::make_shared<const OnGpuByMpi>(driver, user, *extent, place,
                                                               known && known->reason() == Reason::library_quirk));
  return extent;
}

bool contiguous_on_gpu(const memory::Buffer& buffer) {
  const auto* data = buffer.device();
  return data && data->recipe->recipe.contiguous(0, buffer.size());
}

bool beyond_us(const void* address) {
  const auto* driver = device::driver_without_kernels();
  return driver && device::known_place(*driver, address).memory == device::Memory::device;
}

bool on_device(const void* address) {
  if (beyond_us(address)) return true;
  if (surely_host(address)) return false;
  const auto* driver = device::driver();
  return driver && device::known_place(*driver, address).memory == device::Memory::device;
}

memory::Buffer buffer_of(void* user, std::int64_t count, MPI_Datatype type) {
  const auto* known = known_type(type);
  if (auto buffer = on_gpu(user, count, type, known)) return std::move(*buffer);
  if (known && known->reason() == Reason::contiguous) {
    if (const auto bytes = known->bytes()) return memory::Buffer::contiguous(user, type::times(count, bytes));
  }
  try {
    if (known && known->reason() == Reason::accelerated) return {known->program(count), user};
    // A type that was committed where nobody saw it.
    if (!known) return {std::make_shared<const pack::Program>(type::layout_of(*decode(type)), count), user};
  } catch (const type::SpecError&) {  // the MPI's own functions serve
  }
  return buffer_by_mpi(user, count, type);
}

memory::Buffer buffer_by_mpi(void* user, std::int64_t count, MPI_Datatype type) {
  return memory::Buffer(std::make_shared<const OnHostByMpi>(user, count, type));
}

}  // namespace dunnage::mpi
