#include "calls/gpu_pack.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "calls/gpu_error.hpp"
#include "calls/types.hpp"
#include "engine/gpu_pack.hpp"

namespace dunnage::calls {
namespace {

using engine::Direction;
using plan::Reason;

/// Where the bytes of a call are, relative to the buffer; nothing where that is for the MPI to judge.
struct Extent {
  std::int64_t size = 0;            // packed bytes
  std::int64_t first = 0;           // the first byte of the stream
  std::int64_t low = 0, high = 0;   // all of them: [low, high)
};

std::optional<Extent> extent_of(const PackingCall& call, const KnownType* known, const engine::GpuRecipe* recipe) {
  if (call.count <= 0) return std::nullopt;
  if (recipe) {
    const auto& r = recipe->recipe;
    return r.size() ? std::optional(Extent{r.size(), r.first(), r.low(), r.high()}) : std::nullopt;
  }
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  const auto& own = context->own;
  if (call.type == MPI_DATATYPE_NULL || own.Type_size_x(call.type, &size) != MPI_SUCCESS || size <= 0) return std::nullopt;
  const auto bytes = type::times(call.count, size);
  if (known && known->reason() == Reason::contiguous) return Extent{bytes, 0, 0, bytes};
  if (own.Type_get_extent_x(call.type, &lb, &extent) != MPI_SUCCESS || own.Type_get_true_extent_x(call.type, &true_lb, &true_extent) != MPI_SUCCESS)
    return std::nullopt;
  const auto reach = type::times(call.count - 1, extent);
  return Extent{bytes, true_lb, true_lb + std::min<std::int64_t>(reach, 0), true_lb + true_extent + std::max<std::int64_t>(reach, 0)};
}

const char* user_byte(const PackingCall& call, std::int64_t offset) {
  return reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(call.user) + static_cast<std::uintptr_t>(offset));
}
char* packed_byte(const PackingCall& call) { return static_cast<char*>(const_cast<void*>(call.packed)) + *call.position; }

/// Where the first bytes are.
struct Places {
  device::Place user, packed;
};

/// A buffer begins where its data are, but absolute addresses may be of several memories.
bool user_on_gpu(const device::Driver& driver, const PackingCall& call, const Places& places, const engine::GpuRecipe* recipe) {
  if (places.user.on_gpu()) return true;
  if (call.user != MPI_BOTTOM || !recipe) return false;
  const auto& parts = recipe->recipe.parts();
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return device::place_of(driver, user_byte(call, part.offset)).on_gpu(); });
}

/// Host memory in place of a user's buffer on a device: for the MPI, which packs by itself there. `quirk`: it may reach further
/// than it should. Open MPI takes blocks that fall and overlap for contiguous ones.
class InHost {
 public:
  InHost(const device::Driver& driver, const PackingCall& call, const Extent& extent, const device::Place& place, bool quirk) : driver_(driver) {
    base_ = const_cast<void*>(call.user);
    if (!place.on_gpu()) return;
    const auto margin = quirk ? std::max(extent.high - extent.low, extent.size) : 0;
    bytes_.resize(static_cast<std::size_t>(extent.high - extent.low + 2 * margin));
    const auto low = reinterpret_cast<std::uintptr_t>(user_byte(call, extent.low - margin));
    const auto begin = std::max(low, place.begin), end = std::min(low + bytes_.size(), place.end);
    original_ = reinterpret_cast<char*>(begin);
    copied_ = {bytes_.data() + (begin - low), end > begin ? end - begin : 0};
    base_ = bytes_.data() - (extent.low - margin);
    engine::gpu_copy(driver, copied_.data(), original_, copied_.size());  // unpacking leaves the gaps as they are
  }
  /// As the MPI is to be given it.
  void* base() const { return base_; }
  void write_back() const {
    if (original_) engine::gpu_copy(driver_, original_, copied_.data(), copied_.size());
  }

 private:
  const device::Driver& driver_;
  std::vector<char> bytes_;
  std::span<char> copied_;
  char* original_ = nullptr;
  void* base_;
};

/// The MPI packs by itself, in host memory: for datatypes that are packed its way or that we know nothing of.
int through_host(const device::Driver& driver, const PackingCall& call, const Extent& extent, const Places& places, bool quirk) {
  if (call.count > std::numeric_limits<int>::max() || extent.size > std::numeric_limits<int>::max()) return raise(call.comm, MPI_ERR_COUNT);
  const InHost user(driver, call, extent, places.user, quirk);
  std::vector<char> packed(static_cast<std::size_t>(extent.size));
  const int count = static_cast<int>(call.count), size = static_cast<int>(extent.size);
  int rc = MPI_SUCCESS, at = 0;
  if (call.pack) {
    rc = context->own.Pack(user.base(), count, call.type, packed.data(), size, &at, call.comm);
    if (rc == MPI_SUCCESS) engine::gpu_copy(driver, packed_byte(call), packed.data(), static_cast<std::size_t>(at));
  } else {
    engine::gpu_copy(driver, packed.data(), packed_byte(call), packed.size());
    rc = context->own.Unpack(packed.data(), size, &at, user.base(), count, call.type, call.comm);
    if (rc == MPI_SUCCESS) user.write_back();
  }
  if (rc == MPI_SUCCESS) *call.position += at;
  return rc;
}

int accelerated(const device::Driver& driver, const PackingCall& call, const Extent& extent, const KnownType& known,
                std::shared_ptr<const engine::GpuRecipe> recipe, const Places& places) {
  const Variant* variant = nullptr;
  std::shared_ptr<const pack::Program> program;
  if (!recipe) {  // contiguous
    type::Layout bytes;
    bytes.data = type::block(0, extent.size);
    bytes.size = bytes.extent = extent.size;
    recipe = std::make_shared<const engine::GpuRecipe>(bytes, 1);
  } else if (variant = known.find(call.count); !variant) {
    program = known.plan(call.count).program;
  }
  const Accelerated counted(call.hook, extent.size);
  const auto* host = variant ? variant->program.get() : program.get();
  engine::gpu_pack(driver, call.pack ? Direction::pack : Direction::unpack, {call.user, std::move(recipe), host, places.user}, packed_byte(call),
                   places.packed, context->settings.device_piece);
  *call.position += extent.size;
  return MPI_SUCCESS;
}

}  // namespace

std::optional<int> pack_on_gpu(const device::Driver& driver, const PackingCall& call) try {
  // What is wrong is for the MPI to report; it looks at its arguments before it touches the buffers.
  if (!call.packed || call.comm == MPI_COMM_NULL || *call.position < 0) return std::nullopt;
  const auto* known = known_type(call.type);
  const bool derived = known && known->reason() == Reason::accelerated && call.count > 0;
  auto recipe = derived ? known->recipe(call.count) : nullptr;
  const auto extent = extent_of(call, known, recipe.get());
  if (!extent) return std::nullopt;
  const Places places{device::place_of(driver, user_byte(call, extent->first)), device::place_of(driver, packed_byte(call))};
  if (!places.packed.on_gpu() && !user_on_gpu(driver, call, places, recipe.get())) return std::nullopt;
  if (extent->size > call.size - *call.position) {
    context->count(call.hook, Reason::bad_argument);
    return raise(call.comm, MPI_ERR_TRUNCATE);
  }
  if (derived || (known && known->reason() == Reason::contiguous)) return accelerated(driver, call, *extent, *known, std::move(recipe), places);
  context->count(call.hook, Reason::through_host);
  return through_host(driver, call, *extent, places, known && known->reason() == Reason::library_quirk);
} catch (const device::Error& error) {
  context->count(call.hook, Reason::device_error);
  return raise(call.comm, error);
} catch (const type::SpecError&) {
  return std::nullopt;  // more bytes than there are addresses
} catch (const std::bad_alloc&) {
  context->count(call.hook, Reason::no_memory);
  return raise(call.comm, MPI_ERR_NO_MEM);
}

void forget_gpus() {
  if (const auto* driver = device::driver()) device::Gpu::release_all(*driver);
}

}  // namespace dunnage::calls
