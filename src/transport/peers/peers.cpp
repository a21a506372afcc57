#include "transport/peers/peers.hpp"

#include <bit>
#include <utility>

namespace dunnage::transport::peers {

Peers::~Peers() {
  for (const auto& peer : peers_) delete peer.memory.load();
}

const Memory* Peers::keep(Peer& peer, std::unique_ptr<Memory> found) {
  const auto* memory = found.release();
  peer.memory.store(memory, std::memory_order_release);
  return memory;
}

/// The rank may not have started yet, or may be on another host: it is looked for ever more rarely.
const Memory* Peers::look_for(std::uint32_t rank) {
  auto& peer = peers_[rank];
  if (const auto* known = peer.memory.load(std::memory_order_relaxed)) return known;
  if (peer.asked >= most_looks || !std::has_single_bit(++peer.asked)) return nullptr;
  return keep(peer, Memory::find({self_.job, rank, self_.ranks}));
}

bool Peers::near(std::uint32_t rank) {
  if (rank >= self_.ranks || rank == self_.rank || memory(rank)) return true;
  const std::lock_guard lock(mutex_);
  return look_for(rank) != nullptr;
}

bool Peers::reaches(std::uint32_t rank) {
  if (rank >= self_.ranks || rank == self_.rank || own_.header().leaving.load(std::memory_order_relaxed)) return false;
  auto& peer = peers_[rank];
  switch (peer.standing.load(std::memory_order_acquire)) {
    case ready: return !peer.memory.load(std::memory_order_relaxed)->header().leaving.load(std::memory_order_acquire);
    case lost: return false;
    default: break;
  }
  const std::lock_guard lock(mutex_);
  const auto* memory = look_for(rank);
  if (!memory) return false;
  auto& mailbox = memory->mailbox(self_.rank);
  switch (mailbox.state.load(std::memory_order_acquire)) {
    case Mailbox::none:
      mailbox.process = own_.header().process;
      mailbox.file = own_.file();
      mailbox.state.store(Mailbox::asked, std::memory_order_release);
      memory->header().requests.fetch_add(1, std::memory_order_release);
      return false;
    case Mailbox::asked: return false;
    case Mailbox::accepted: peer.standing.store(ready, std::memory_order_release); return true;
    default: peer.standing.store(lost, std::memory_order_release); return false;
  }
}

void Peers::answer(std::uint32_t rank) {
  auto& mailbox = own_.mailbox(rank);
  if (mailbox.state.load(std::memory_order_acquire) != Mailbox::asked) return;
  const std::lock_guard lock(mutex_);
  auto& peer = peers_[rank];
  const auto* known = peer.memory.load(std::memory_order_relaxed);
  if (!known) known = keep(peer, Memory::open({self_.job, rank, self_.ranks}, mailbox.process, mailbox.file));
  mailbox.state.store(known ? Mailbox::accepted : Mailbox::refused, std::memory_order_release);
}

void Peers::tell_scatters(std::uint32_t sender, bool scatters) {
  if (sender >= self_.ranks || sender == self_.rank || !near(sender)) return;
  auto& told = memory(sender)->mailbox(self_.rank).scatters;
  if ((told.load(std::memory_order_relaxed) != 0) != scatters) told.store(scatters, std::memory_order_relaxed);
}

const Memory* Peers::memory_of_learned(std::uint32_t rank) {
  if (const auto* known = memory(rank)) return known;
  if (rank >= whereabouts_.size() || !beside(rank)) return nullptr;
  const std::lock_guard lock(mutex_);
  auto& peer = peers_[rank];
  const auto* known = peer.memory.load(std::memory_order_relaxed);
  const auto& [_, process, file] = whereabouts_[rank];
  return known ? known : keep(peer, Memory::open({self_.job, rank, self_.ranks}, process, file));
}

bool Peers::learn(std::vector<Whereabouts> all) {
  whereabouts_ = std::move(all);
  bool every = true;
  // All are mapped now, because a program may later use up the file descriptors or the addresses.
  for (std::uint32_t rank = 0; rank < self_.ranks; ++rank) every = (!beside(rank) || memory_of_learned(rank)) && every;
  return every;
}

bool Peers::somebody_reads() const {
  for (std::uint32_t rank = 0; rank < self_.ranks; ++rank) {
    const auto* known = rank != self_.rank ? memory(rank) : nullptr;
    if (known && !known->header().leaving.load(std::memory_order_acquire) && known->alive()) return true;
  }
  return false;
}

}  // namespace dunnage::transport::peers
