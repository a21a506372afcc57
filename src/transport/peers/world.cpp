#include "transport/peers/world.hpp"

#include <utility>

namespace dunnage::transport::peers {

std::unique_ptr<World> World::join(const Identity& self, std::uint64_t most, std::uint64_t idle, bool brief) {
  auto own = Memory::make(self, brief);
  return own ? std::unique_ptr<World>(new World(self, std::move(own), most, idle)) : nullptr;
}

World::World(const Identity& self, std::unique_ptr<Memory> own, std::uint64_t most, std::uint64_t idle)
    : own_(std::move(own)), room_(*own_, most, idle), peers(self, *own_), looked_for_(self.ranks) {}

void World::answer_requests() {
  if (answering_.exchange(true, std::memory_order_acquire)) return;
  const std::unique_ptr<std::atomic<bool>, void (*)(std::atomic<bool>*)> end(
      &answering_, [](auto* flag) { flag->store(false, std::memory_order_release); });
  // Who asks from here on is counted anew, so that a later call looks again.
  const auto requests = own_->header().requests.load(std::memory_order_acquire);
  for (std::uint32_t rank = 0; rank < peers.self().ranks; ++rank) {
    peers.answer(rank);
    gpu_proofs.answer(rank);
    passing.answer(rank);
  }
  answered_.store(requests, std::memory_order_relaxed);
}

Hold World::holds(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes,
                  const std::function<base::Descriptor()>& make) {
  if (auto hold = passing.held(rank, memory)) return hold;
  slots_.collect();  // operations that are over name no memory
  passing.pass(rank, memory, bytes, make);
  return nullptr;
}

const Memory* World::found(std::uint32_t rank, bool look) {
  if (rank == peers.self().rank) return own_.get();
  const auto* known = peers.memory(rank);
  if (known || !look || rank >= peers.self().ranks || looked_for_[rank].load(std::memory_order_relaxed)) return known;
  looked_for_[rank].store(true, std::memory_order_relaxed);
  known = peers.memory_of_learned(rank);
  if (!known && looks_.fetch_add(1, std::memory_order_relaxed) < most_looked_for && peers.near(rank))
    known = peers.memory(rank);
  return known;
}

std::uint32_t World::choice_of(std::uint32_t rank, std::uint64_t name, bool look) {
  const auto* memory = found(rank, look);
  return memory ? shm::find_choice(*memory, name) : 0;
}

bool World::finalizes(std::uint32_t rank) {
  const auto* memory = found(rank, false);
  return !memory || memory->header().finalizes.load(std::memory_order_acquire) != 0 || !memory->alive();
}

std::optional<shm::Offered> World::offer_of(std::uint32_t rank, std::uint64_t name) {
  const auto* memory = found(rank, true);
  return memory ? shm::find_offer(*memory, name) : std::nullopt;
}

std::optional<shm::Reading> World::published(std::uint32_t rank, std::uint64_t begin, std::uint64_t serial,
                                             std::int64_t size) {
  const auto* memory = rank == peers.self().rank ? own_.get() : peers.memory_of_learned(rank);
  return memory ? shm::find_publication(*memory, begin, serial, size) : std::nullopt;
}

bool World::all_received(bool in_doubt) {
  const bool operations = slots_.all_received(in_doubt);
  if (!publications.collect() && in_doubt && !peers.somebody_reads()) publications.forget();
  return publications.collect() && operations;
}

}  // namespace dunnage::transport::peers
