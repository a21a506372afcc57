#include "mpi/hooks/gpu_pack.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "mpi/message/elements.hpp"
#include "mpi/process/failure.hpp"
#include "mpi/process/types.hpp"

namespace dunnage::mpi {

namespace {

using pack::gpu::Direction;
using plan::Reason;

Elements user_of(const PackingCall& call) { return {call.user, call.count, call.type}; }
char* packed_byte(const PackingCall& call) {
  return static_cast<char*>(const_cast<void*>(call.packed)) + *call.position;
}

/// Where the first bytes are.
struct Places {
  device::Place user, packed;
};

/// The MPI packs by itself, in host memory: for datatypes that are packed its way or that we know
/// nothing of.
int through_host(const device::Driver& driver, const PackingCall& call, const Extent& extent, const Places& places,
                 bool quirk) {
  if (call.count > std::numeric_limits<int>::max() || extent.size > std::numeric_limits<int>::max())
    return raise(call.comm, MPI_ERR_COUNT);
  const InHost user(driver, user_of(call), extent, places.user, quirk);
  std::vector<char> packed(static_cast<std::size_t>(extent.size));
  const int count = static_cast<int>(call.count), size = static_cast<int>(extent.size);
  int rc = MPI_SUCCESS, at = 0;
  if (call.pack) {
    rc = process->own.Pack(user.base(), count, call.type, packed.data(), size, &at, call.comm);
    if (rc == MPI_SUCCESS) pack::gpu::gpu_copy(driver, packed_byte(call), packed.data(), static_cast<std::size_t>(at));
  } else {
    pack::gpu::gpu_copy(driver, packed.data(), packed_byte(call), packed.size());
    rc = process->own.Unpack(packed.data(), size, &at, user.base(), count, call.type, call.comm);
    if (rc == MPI_SUCCESS) user.write_back();
  }
  if (rc == MPI_SUCCESS) *call.position += at;
  return rc;
}

int accelerated(const device::Driver& driver, const PackingCall& call, const Extent& extent, const KnownType& known,
                std::shared_ptr<const pack::gpu::GpuRecipe> recipe, const Places& places) {
  const Variant* variant = nullptr;
  std::shared_ptr<const pack::Program> program;
  if (!recipe) {
    recipe = contiguous_recipe(extent.size);
  } else if (variant = known.find(call.count); !variant) {
    program = known.plan(call.count).program;
  }
  const Accelerated counted(call.hook, extent.size);
  const auto* host = variant ? variant->program.get() : program.get();
  pack::gpu::gpu_pack(driver, call.pack ? Direction::pack : Direction::unpack,
                      {call.user, std::move(recipe), host, places.user}, packed_byte(call), places.packed,
                      process->settings.device_piece);
  *call.position += extent.size;
  return MPI_SUCCESS;
}

}  // namespace

std::optional<int> pack_on_gpu(const device::Driver& driver, const PackingCall& call) try {
  // What is wrong is for the MPI to report; it looks at its arguments before it touches the
  // buffers.
  if (!call.packed || call.comm == MPI_COMM_NULL || *call.position < 0) return std::nullopt;
  const auto user = user_of(call);
  const auto* known = known_type(call.type);
  const bool derived = known && known->reason() == Reason::accelerated && call.count > 0;
  auto recipe = derived ? known->recipe(call.count) : nullptr;
  const auto extent = extent_of(user, known, recipe.get());
  if (!extent) return std::nullopt;
  const Places places{device::place_of(driver, user.byte(extent->first)), device::place_of(driver, packed_byte(call))};
  if (!places.packed.on_gpu() && !any_on_gpu(driver, user, places.user, recipe.get())) return std::nullopt;
  if (extent->size > call.size - *call.position) {
    process->count(call.hook, Reason::bad_argument);
    return raise(call.comm, MPI_ERR_TRUNCATE);
  }
  if (derived || (known && known->reason() == Reason::contiguous))
    return accelerated(driver, call, *extent, *known, std::move(recipe), places);
  process->count(call.hook, Reason::through_host);
  return through_host(driver, call, *extent, places, known && known->reason() == Reason::library_quirk);
} catch (const device::Error& error) {
  process->count(call.hook, Reason::device_error);
  return raise(call.comm, error);
} catch (const type::SpecError&) {
  return std::nullopt;  // more bytes than there are addresses
} catch (const std::bad_alloc&) {
  process->count(call.hook, Reason::no_memory);
  return raise(call.comm, MPI_ERR_NO_MEM);
}

}  // namespace dunnage::mpi
