#include "mpi/process/gpu_use.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device/passed.hpp"
#include "device/pins.hpp"
#include "mpi/process/gpu_passing.hpp"
#include "transport/gpu/remote.hpp"

namespace dunnage::mpi {

using device::Driver;
using transport::gpu_lengths;
using Proof = transport::shm::Mailbox::Proof;

static_assert(sizeof(device::Exported) <= sizeof Proof::memory);

GpuUse& gpu_use() {
  static auto* all = new GpuUse;
  return *all;
}

device::Place any_place(const Driver& driver) {
  auto place = gpu_use().place;
  if (place.context && device::id_of(driver, place.context) != gpu_use().context_id)
    place.context = nullptr;  // it has been destroyed
  return place;
}

CUcontext context_of(const Driver& driver, const device::Place& place) {
  return device::context_for(driver, place.memory == device::Memory::device ? place : any_place(driver));
}

std::shared_ptr<const device::Arena::Block> take_block(const Driver& driver, std::int64_t size) {
  return device::Gpu::current(driver).arena().take(static_cast<std::uint64_t>(size), process->settings.device_arena,
                                                   process->rank);
}

bool launches_wait() {
  static const bool wait = [] {
    const auto* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    return blocking && *blocking && std::strcmp(blocking, "0") != 0;
  }();
  return wait;
}

bool in_one_piece(const pack::gpu::Described& data) {
  const auto& recipe = data.recipe->recipe;
  const auto address = reinterpret_cast<std::uintptr_t>(data.buffer);
  const auto low = address + static_cast<std::uintptr_t>(recipe.low()),
             high = address + static_cast<std::uintptr_t>(recipe.high());
  return data.place.on_gpu() && low >= data.place.begin && high <= data.place.end;
}

std::optional<Proof> make_proof(const Driver& driver, const device::Place& place) try {
  auto& o = gpu_use();
  const std::lock_guard lock(o.mutex);
  const device::Scope scope(driver, device::context_for(driver, place));
  auto& gpu = device::Gpu::current(driver);
  if (!o.proof) {
    o.proof = gpu.arena().take(sizeof(std::uint64_t), process->settings.device_arena, process->rank);
    if (!o.proof) return std::nullopt;
    o.proved = place.device;
  }
  if (o.proved != place.device) return std::nullopt;
  static const auto value = [] {  // all receivers look at the same
    std::uint64_t chance = 0;
    return getrandom(&chance, sizeof chance, 0) == sizeof chance ? chance : 0;
  }();
  if (value == 0) return std::nullopt;
  Proof proof{};
  proof.value = value;
  proof.gpu = device::identity_of(driver, place.device);
  pack::gpu::gpu_copy(driver, reinterpret_cast<void*>(o.proof->address), &value, sizeof value);
  std::memcpy(proof.memory, &o.proof->exported, sizeof o.proof->exported);
  return proof;
} catch (const std::exception&) {
  return std::nullopt;
}

namespace {

transport::shm::Mailbox::State check_proof(const Proof& proof) try {
  using transport::shm::Mailbox;
  const auto* driver = device::driver();
  if (!driver) return Mailbox::refused;
  const device::Scope scope(*driver, device::context_for(*driver, any_place(*driver)));
  device::Exported exported;
  std::memcpy(&exported, proof.memory, sizeof exported);
  const transport::gpu::Remote remote(*driver, transport::gpu::describe(exported, sizeof(std::uint64_t)));
  std::uint64_t value = ~proof.value;
  remote.pack(&value, device::Place(), process->settings.device_piece, 0, sizeof value);
  if (value != proof.value) return Mailbox::refused;
  CUdevice device = 0;
  device::check(*driver, driver->cuCtxGetDevice(&device), "cuCtxGetDevice");
  const auto gpu = device::identity_of(*driver, device);
  return gpu != 0 && proof.gpu != 0 && gpu != proof.gpu ? Mailbox::accepted_far : Mailbox::accepted;
} catch (const std::exception&) {
  return transport::shm::Mailbox::refused;
}

}  // namespace

void see_gpu(const void* address) {
  auto& o = gpu_use();
  if (o.seen.load(std::memory_order_acquire) || !process->world) return;
  const auto* driver = device::driver();
  if (!driver) return;
  const auto place = device::known_place(*driver, address);
  if (place.memory != device::Memory::device) return;
  {
    const std::lock_guard lock(o.mutex);
    if (o.seen.load(std::memory_order_relaxed)) return;
    o.place = place;
    o.context_id = place.context ? device::id_of(*driver, place.context) : 0;
    // From now on the lengths of ordinary messages are looked at.
    process->tickets_from = std::min(process->tickets_from.load(), gpu_lengths.least);
    o.seen.store(true, std::memory_order_release);
  }
  // These take locks of their own.
  process->world->gpu_proofs.check_with(check_proof);
  if (!device::passes_memory(*driver)) return;
  process->world->passing.take_with(
      [](std::uint32_t rank, std::uint32_t at, const transport::peers::DescriptorSocket::Message& message) {
        return take_passed(*device::driver(), any_place(*device::driver()), rank, at, message);
      });
}

void see_current_gpu() try {
  const auto* driver = device::driver();
  CUcontext current = nullptr;
  if (gpu_use().seen.load(std::memory_order_acquire) || !driver || driver->cuCtxGetCurrent(&current) != CUDA_SUCCESS ||
      !current)
    return;
  const device::Scope scope(*driver, current);
  if (const auto block = take_block(*driver, sizeof(std::uint64_t)))
    see_gpu(reinterpret_cast<const void*>(block->address));
} catch (const std::exception&) {  // then no other rank's memory is reached
}

void forget_gpu_use() {
  if (const auto* driver = device::driver()) device::unpin_all(*driver);
  device::all_passed().clear();
  const std::lock_guard lock(gpu_use().mutex);
  gpu_use().proof.reset();
}

}  // namespace dunnage::mpi
