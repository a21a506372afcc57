#include "calls/content.hpp"

#ifdef DUNNAGE_CUDA
#include "calls/gpu_buffer.hpp"
#include "calls/gpu_error.hpp"
#include "calls/gpu_pack.hpp"
#include "calls/gpu_tickets.hpp"
#include "engine/host_memory.hpp"
#endif

namespace dunnage::calls {

using plan::Reason;

#ifdef DUNNAGE_CUDA
namespace {

/// Packed by kernels.
class OnGpu : public engine::Elsewhere {
 public:
  OnGpu(const device::Driver& driver, const UserBuffer& user, std::shared_ptr<const engine::GpuRecipe> recipe, std::shared_ptr<const pack::Program> program,
        const device::Place& place)
      : driver_(driver), program_(std::move(program)), described_{user.buffer, std::move(recipe), program_.get(), place} {}
  std::int64_t size() const override { return described_.recipe->recipe.size(); }
  void pack(char* to, std::int64_t begin, std::int64_t end) const override { run(engine::Direction::pack, to, begin, end); }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const override { run(engine::Direction::unpack, const_cast<char*>(from), begin, end); }
  const engine::Described* device() const override { return &described_; }

 private:
  /// `packed`: where byte `begin` is.
  void run(engine::Direction direction, char* packed, std::int64_t begin, std::int64_t end) const {
    if (begin >= end) return;
    const auto place = device::known_place(driver_, packed);
    auto base = place;
    base.address -= static_cast<std::uintptr_t>(begin);
    engine::gpu_pack(driver_, direction, described_, reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(packed) - static_cast<std::uintptr_t>(begin)),
                     base, context->settings.device_piece, begin, end);
  }

  const device::Driver& driver_;
  const std::shared_ptr<const pack::Program> program_;
  const engine::Described described_;
};

/// Packed by the MPI, in a copy in host memory: datatypes that it packs in an order of its own, or that we know nothing of. All of it at
/// once, whatever is asked for; what comes in pieces must come in order, and is put in its place with the last one.
class ThroughMpi : public engine::Elsewhere {
 public:
  ThroughMpi(const device::Driver& driver, const UserBuffer& user, const Extent& extent, const device::Place& place, bool quirk)
      : driver_(driver), user_(user), extent_(extent), place_(place), quirk_(quirk) {
    // The program may free the datatype. Not a duplicate, which would call its attribute functions.
    if (context->own.Type_contiguous(1, user.type, &user_.type) != MPI_SUCCESS || context->own.Type_commit(&user_.type) != MPI_SUCCESS) throw std::bad_alloc();
  }
  ~ThroughMpi() override { context->own.Type_free(&user_.type); }
  std::int64_t size() const override { return extent_.size; }
  void pack(char* to, std::int64_t begin, std::int64_t end) const override {
    const InHost host(driver_, user_, extent_, place_, quirk_);
    std::vector<char> packed(static_cast<std::size_t>(extent_.size));
    int at = 0;
    context->own.Pack(host.base(), static_cast<int>(user_.count), user_.type, packed.data(), static_cast<int>(packed.size()), &at, MPI_COMM_SELF);
    std::copy(packed.begin() + begin, packed.begin() + end, to);
  }
  void unpack(const char* from, std::int64_t begin, std::int64_t end) const override {
    const InHost host(driver_, user_, extent_, place_, quirk_);
    std::vector<char> packed(static_cast<std::size_t>(extent_.size));
    int at = 0;
    // What has come is whole elements of basic types, but perhaps not of this one: the rest stays what it is.
    context->own.Pack(host.base(), static_cast<int>(user_.count), user_.type, packed.data(), static_cast<int>(packed.size()), &at, MPI_COMM_SELF);
    std::copy(from, from + (end - begin), packed.begin() + begin);
    at = 0;
    context->own.Unpack(packed.data(), static_cast<int>(packed.size()), &at, host.base(), static_cast<int>(user_.count), user_.type, MPI_COMM_SELF);
    host.write_back();
  }

 private:
  const device::Driver& driver_;
  UserBuffer user_;
  const Extent extent_;
  const device::Place place_;
  const bool quirk_;
};

}  // namespace

std::optional<engine::Content> on_gpu(const void* buffer, std::int64_t count, MPI_Datatype type, const KnownType* known) {
  const auto* driver = device::driver();
  if (!driver) return std::nullopt;
  const UserBuffer user{buffer, count, type};
  // Most often that is told by the first byte, before anything else is found out.
  const bool located = known && (known->reason() == Reason::accelerated || known->reason() == Reason::contiguous) && buffer != MPI_BOTTOM;
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
  if (const auto* begin = user.byte(extent->first); !located || begin != first) place = device::known_place(*driver, begin);
  if (!any_on_gpu(*driver, user, place, recipe.get())) return std::nullopt;
  see_gpu(user.byte(extent->first));
  if (derived) return engine::Content(std::make_shared<const OnGpu>(*driver, user, std::move(recipe), known->program(count), place));
  if (known && known->reason() == Reason::contiguous)
    return engine::Content(std::make_shared<const OnGpu>(*driver, user, contiguous_recipe(extent->size), nullptr, place));
  return engine::Content(std::make_shared<const ThroughMpi>(*driver, user, *extent, place, known && known->reason() == Reason::library_quirk));
}
#else
std::optional<engine::Content> on_gpu(const void*, std::int64_t, MPI_Datatype, const KnownType*) { return std::nullopt; }
#endif

int code_of_current_exception() {
  try {
    throw;
#ifdef DUNNAGE_CUDA
  } catch (const device::Error& error) {
    return code_of(error);
#endif
  } catch (const std::bad_alloc&) {
    return MPI_ERR_NO_MEM;
  } catch (const std::exception&) {
    return MPI_ERR_OTHER;
  }
}

bool contiguous_on_gpu([[maybe_unused]] const engine::Content& content) {
#ifdef DUNNAGE_CUDA
  const auto* data = content.device();
  return data && data->recipe->recipe.contiguous(0, content.size());
#else
  return false;
#endif
}

engine::Staging staging_for(const engine::Content& content, std::int64_t size, bool on_device) {
#ifdef DUNNAGE_CUDA
  if (on_device && content.device() && size >= context->model.gpu.passed)
    if (const auto block = gpu_block(content, size)) return {block, reinterpret_cast<char*>(block->address), true};
  if (const auto* data = content.device()) try {
      const auto memory = std::make_shared<const engine::HostMemory>(*device::driver(), data->place, static_cast<std::size_t>(size), context->settings.staging_pool);
      return {memory, memory->data()};
    } catch (const std::exception&) {  // other memory will do
    }
#else
  (void)content;
  (void)on_device;
#endif
  return context->staging.take(size);
}

namespace {

/// Data that a device takes nearly as long to begin with as to bring: two pieces of them are put together by the host.
bool worth_joining(const engine::Parcel& parcel, const engine::Content& content, std::int64_t bytes) {
  return !parcel.on_device() && parcel.divided() && content.device() && bytes > parcel.first && bytes <= std::int64_t{128} << 10;
}

}  // namespace

int gather(const engine::Parcel& parcel, const engine::Content& content, std::int64_t bytes) {
  const base::Range range("pack", bytes);
  return guarded([&] {
    if (const auto joined = worth_joining(parcel, content, bytes) ? staging_for(content, bytes) : engine::Staging()) {
      content.pack(joined.data(), 0, bytes);
      parcel.write(joined.data(), 0, bytes);
    } else {
      parcel.gather(content, bytes);
    }
  });
}

int deliver(const engine::Parcel& parcel, const engine::Content& content, std::int64_t bytes) {
  const base::Range range("unpack", bytes);
  return guarded([&] {
    bytes = std::min(bytes, parcel.size);
    if (const auto joined = worth_joining(parcel, content, bytes) ? staging_for(content, bytes) : engine::Staging()) {
      parcel.read(joined.data(), 0, bytes);
      content.unpack(joined.data(), 0, bytes);
    } else {
      parcel.deliver(content, bytes);
    }
  });
}

}  // namespace dunnage::calls
