#include "calls/gpu_own.hpp"

#include <sys/random.h>

#include <cstring>

#include "calls/gpu_passing.hpp"
#include "calls/gpu_tickets.hpp"
#include "device/passed.hpp"
#include "engine/gpu_remote.hpp"

namespace dunnage::calls {

using device::Driver;
using transport::gpu_lengths;
using Proof = transport::shm::Letter::Proof;

static_assert(sizeof(device::Exported) <= sizeof Proof::memory);

Own& own() {
  static auto* all = new Own;
  return *all;
}

device::Place any_place(const Driver& driver) {
  auto place = own().place;
  if (place.context && device::id_of(driver, place.context) != own().context_id) place.context = nullptr;  // it has been destroyed
  return place;
}

CUcontext context_of(const Driver& driver, const device::Place& place) {
  return device::context_for(driver, place.memory == device::Memory::device ? place : any_place(driver));
}

std::shared_ptr<const device::Arena::Block> take_block(const Driver& driver, std::int64_t size) {
  return device::Gpu::current(driver).arena().take(static_cast<std::uint64_t>(size), context->settings.device_arena, context->rank);
}

void say(GpuOffer& offer, const engine::GpuSource& source) {
  offer.head.resize(sizeof source);
  std::memcpy(offer.head.data(), &source, sizeof source);
}

bool offer_block(const Driver& driver, GpuOffer& offer, std::int64_t size) {
  context->world->take_back();  // what it holds of the arena
  const auto block = take_block(driver, size);
  if (!block) return false;
  say(offer, engine::describe(block->exported, size));
  offer.address = static_cast<std::uintptr_t>(block->address);
  offer.memory = block;
  return true;
}

bool in_one_piece(const engine::Described& data) {
  const auto& recipe = data.recipe->recipe;
  const auto address = reinterpret_cast<std::uintptr_t>(data.buffer);
  const auto low = address + static_cast<std::uintptr_t>(recipe.low()), high = address + static_cast<std::uintptr_t>(recipe.high());
  return data.place.on_gpu() && low >= data.place.begin && high <= data.place.end;
}

std::optional<Proof> make_proof(const Driver& driver, const device::Place& place) try {
  auto& o = own();
  const std::lock_guard lock(o.mutex);
  const device::Scope scope(driver, device::context_for(driver, place));
  auto& gpu = device::Gpu::current(driver);
  if (!o.proof) {
    o.proof = gpu.arena().take(sizeof(std::uint64_t), context->settings.device_arena, context->rank);
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
  engine::gpu_copy(driver, reinterpret_cast<void*>(o.proof->address), &value, sizeof value);
  std::memcpy(proof.memory, &o.proof->exported, sizeof o.proof->exported);
  return proof;
} catch (const std::exception&) {
  return std::nullopt;
}

namespace {

bool check_proof(const Proof& proof) try {
  const auto* driver = device::driver();
  if (!driver) return false;
  const device::Scope scope(*driver, device::context_for(*driver, any_place(*driver)));
  device::Exported exported;
  std::memcpy(&exported, proof.memory, sizeof exported);
  const engine::Remote remote(*driver, engine::describe(exported, sizeof(std::uint64_t)));
  std::uint64_t value = ~proof.value;
  remote.pack(&value, device::Place(), context->settings.device_piece, 0, sizeof value);
  return value == proof.value;
} catch (const std::exception&) {
  return false;
}

}  // namespace

void see_gpu(const void* address) {
  auto& o = own();
  if (o.seen.load(std::memory_order_acquire) || !context->world) return;
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
    context->tickets_from = std::min(context->tickets_from.load(), gpu_lengths.least);
    o.seen.store(true, std::memory_order_release);
  }
  // These take locks of their own.
  context->world->check_proofs(check_proof);
  if (!device::passes_memory(*driver)) return;
  context->world->take_passed([](std::uint32_t rank, std::uint32_t at, const transport::shm::Post::Letter& letter) {
    return take_passed(*device::driver(), any_place(*device::driver()), rank, at, letter);
  });
}

void forget_gpu_tickets() {
  if (const auto* driver = device::driver()) device::unpin_all(*driver);
  device::all_passed().clear();
  const std::lock_guard lock(own().mutex);
  own().proof.reset();
}

}  // namespace dunnage::calls
