#include "transport/shm/world.hpp"

#include <algorithm>
#include <sys/random.h>

#include <bit>

namespace dunnage::transport::shm {
namespace {

/// A token names its slot, its sender's rank but for multiples of this, and else is chance.
constexpr std::uint32_t name_ranks = 1 << 16;

/// The ring, and every chunk that may come after it.
std::uint64_t room_for(const Slot& slot, std::uint32_t index) { return (ring_of(slot) + chunks_of(slot, index)) * static_cast<std::uint64_t>(chunk_of(slot)); }

}  // namespace

std::unique_ptr<World> World::join(const Identity& self, std::uint64_t most, std::uint64_t idle, bool brief) {
  auto own = Memory::make(self, brief);
  return own ? std::unique_ptr<World>(new World(self, std::move(own), most, idle)) : nullptr;
}

World::Peer& World::peer(std::uint32_t rank) {
  auto& peer = peers_[rank];
  if (!peer) peer = std::make_unique<Peer>();
  return *peer;
}

/// A rank may not have started yet, or be elsewhere: it is looked for ever more rarely.
bool World::found(Peer& p, std::uint32_t rank) {
  if (!p.memory && p.asked < most_looks && std::has_single_bit(++p.asked)) p.memory = Memory::find({self_.job, rank, self_.ranks});
  return p.memory != nullptr;
}

bool World::near(std::uint32_t rank) {
  if (rank >= self_.ranks || rank == self_.rank) return true;
  const std::lock_guard lock(mutex_);
  return found(peer(rank), rank);
}

bool World::reaches(std::uint32_t rank) {
  if (rank >= self_.ranks || rank == self_.rank) return false;
  const std::lock_guard lock(mutex_);
  auto& p = peer(rank);
  if (own_->greeting().leaving.load(std::memory_order_relaxed)) return false;
  if (p.ready) return !p.memory->greeting().leaving.load(std::memory_order_acquire);
  if (p.lost || !found(p, rank)) return false;
  auto& letter = p.memory->letter(self_.rank);
  switch (letter.state.load(std::memory_order_acquire)) {
    case Letter::none:
      letter.process = own_->greeting().process;
      letter.file = own_->file();
      letter.state.store(Letter::asked, std::memory_order_release);
      p.memory->greeting().letters.fetch_add(1, std::memory_order_release);
      return false;
    case Letter::asked: return false;
    case Letter::accepted: return p.ready = true;
    default: p.lost = true; return false;
  }
}

void World::tell_scatters(std::uint32_t sender, bool scatters) {
  if (sender >= self_.ranks || sender == self_.rank) return;
  const std::lock_guard lock(mutex_);
  auto& p = peer(sender);
  if (!found(p, sender)) return;
  auto& told = p.memory->letter(self_.rank).scatters;
  if ((told.load(std::memory_order_relaxed) != 0) != scatters) told.store(scatters, std::memory_order_relaxed);
}

const Lengths& World::gpu_ticket(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  return peer(rank).memory->greeting().brief ? gpu_lengths : host_lengths;
}

bool World::reads_gpu(std::uint32_t rank, const std::function<std::optional<Letter::Proof>()>& make_proof) {
  const std::lock_guard lock(mutex_);
  const auto& memory = peer(rank).memory;
  auto& letter = memory->letter(self_.rank);
  if (const auto state = letter.gpu.load(std::memory_order_acquire); state != Letter::none) return state == Letter::accepted;
  const auto proof = make_proof();
  if (proof) letter.proof = *proof;
  letter.gpu.store(proof ? Letter::asked : Letter::refused, std::memory_order_release);
  if (proof) memory->greeting().letters.fetch_add(1, std::memory_order_release);
  return false;
}

void World::check_proofs(std::function<bool(const Letter::Proof&)> check) {
  const std::lock_guard lock(mutex_);
  if (check_) return;
  check_ = std::move(check);
  answered_.store(own_->greeting().letters.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);  // look at them again
}

void World::open_letters() {
  const std::lock_guard lock(mutex_);
  const auto letters = own_->greeting().letters.load(std::memory_order_acquire);
  for (std::uint32_t rank = 0; rank < self_.ranks; ++rank) {
    auto& letter = own_->letter(rank);
    if (letter.state.load(std::memory_order_acquire) == Letter::asked) {
      auto& p = peer(rank);
      if (!p.memory) p.memory = Memory::open({self_.job, rank, self_.ranks}, letter.process, letter.file);
      letter.state.store(p.memory ? Letter::accepted : Letter::refused, std::memory_order_release);
    }
    if (check_ && letter.gpu.load(std::memory_order_acquire) == Letter::asked)
      letter.gpu.store(check_(letter.proof) ? Letter::accepted : Letter::refused, std::memory_order_release);
    if (post_) open_passed(rank);
  }
  answered_.store(letters, std::memory_order_relaxed);
}

bool World::holds(std::uint32_t rank, const Allocation& memory, const decltype(Label::bytes)& bytes, const std::function<base::Descriptor()>& make) {
  const std::lock_guard lock(mutex_);
  auto& p = peer(rank);
  auto& letter = p.memory->letter(self_.rank);
  auto& there = p.memory->greeting();
  if (p.passing.held(memory, letter)) return true;
  if (!post_ || there.post.load(std::memory_order_acquire) == 0) return false;
  collect();
  const auto busy = [&](std::uint32_t place) {
    return std::any_of(offered_.begin(), offered_.end(), [&](const auto& o) { return o.place == place && own_->greeting().slots[o.slot].receiver == rank; });
  };
  const auto serial = next_serial_++;
  const auto send = [&](std::uint32_t place) {
    const auto file = make();
    if (!file) return Passing::Sent::never;
    return post_->send({there.post_name[0], there.post_name[1]}, {self_.rank, place, serial, bytes}, file) ? Passing::Sent::yes : Passing::Sent::not_now;
  };
  if (p.passing.ask(memory, letter, serial, busy, send)) there.letters.fetch_add(1, std::memory_order_release);
  return false;
}

void World::take_passed(Take take) {
  const std::lock_guard lock(mutex_);
  if (post_ || !(post_ = Post::open())) return;
  take_ = std::move(take);
  auto& greeting = own_->greeting();
  std::copy(post_->name().begin(), post_->name().end(), greeting.post_name);
  greeting.post.store(1, std::memory_order_release);
}

void World::open_passed(std::uint32_t rank) {
  auto& letter = own_->letter(rank);
  const auto& memory = peer(rank).memory;
  for (std::uint32_t i = 0; i < Letter::places; ++i) {
    auto& place = letter.passed[i];
    if (place.state.load(std::memory_order_acquire) != Letter::asked) continue;
    // It was sent before it was asked about.
    auto passed = memory ? post_->take(memory->greeting().process, rank, i, place.serial) : std::nullopt;
    const bool holds = passed && take_(rank, i, std::move(*passed));
    place.state.store(holds ? Letter::accepted : Letter::refused, std::memory_order_release);
  }
}

void World::collect() {
  publications_.collect();
  std::erase_if(offered_, [&](Offered& o) {
    auto& slot = own_->greeting().slots[o.slot];
    if (slot.state.load(std::memory_order_acquire) != Slot::done || !slot.packed.load(std::memory_order_acquire)) return false;
    if (o.region.size != 0) {  // else they were read in the GPU's memory
      const auto written = slot.written.load(std::memory_order_relaxed), turned = slot.turned.load(std::memory_order_relaxed);
      const auto places = written <= turned ? std::min(written, ring_of(slot)) : ring_of(slot) + (written - turned);
      o.region.touched = std::max(o.region.touched, places * static_cast<std::uint64_t>(chunk_of(slot)));
      slot.gpu ? gpu_regions_.give_back(o.region, slot.size) : regions_.give_back(o.region);
    }
    slot.state.store(Slot::free, std::memory_order_relaxed);
    return true;
  });
}

std::optional<Outgoing> World::offer(std::uint32_t receiver, std::int64_t size, int tag, bool gpu, const std::optional<Allocation>& named) {
  const std::lock_guard lock(mutex_);
  return offer_slot(receiver, size, tag, gpu, gpu && peer(receiver).memory->greeting().brief ? Slot::brief : Slot::usual, named, {});
}

bool World::takes_tokens(std::uint32_t rank) {
  const std::lock_guard lock(mutex_);
  return peer(rank).memory->greeting().takes_tokens.load(std::memory_order_relaxed) != 0;
}

std::optional<Outgoing> World::offer_token(std::uint32_t receiver, std::int64_t size, int tag, std::span<const char> head, const std::optional<Allocation>& named) {
  const std::lock_guard lock(mutex_);
  auto& theirs = peer(receiver).memory->greeting();
  // In this order, and theirs in the other: either they see ours, or we see that they take none.
  theirs.tokens.fetch_add(1);
  auto offered = theirs.takes_tokens.load() ? offer_slot(receiver, size, tag, true, Slot::token, named, head) : std::nullopt;
  if (!offered) theirs.tokens.fetch_sub(1);
  return offered;
}

bool World::refuse_tokens() {
  auto& greeting = own_->greeting();
  greeting.takes_tokens.store(0);
  return greeting.tokens.load() != 0;
}

std::optional<Incoming> World::recognise(std::uint64_t token, std::int64_t length) {
  const auto rank = static_cast<std::uint32_t>(token / slots % name_ranks);
  const auto index = static_cast<std::uint32_t>(token % slots);
  const std::lock_guard lock(mutex_);
  for (auto sender = rank; sender < self_.ranks; sender += name_ranks) {
    const auto& p = peers_[sender];
    if (!p || !p->memory) continue;
    const auto& slot = p->memory->greeting().slots[index];
    if (slot.state.load(std::memory_order_acquire) != Slot::offered || slot.kind != Slot::token || slot.name != token || slot.receiver != self_.rank || slot.size != length) continue;
    own_->greeting().tokens.fetch_sub(1);
    return Incoming(p->memory.get(), index);
  }
  return std::nullopt;
}

std::optional<Outgoing> World::offer_slot(std::uint32_t receiver, std::int64_t size, int tag, bool gpu, Slot::Kind kind, const std::optional<Allocation>& named,
                                          std::span<const char> head) {
  collect();
  if (offered_.size() == slots) return std::nullopt;
  auto& p = peer(receiver);
  const auto place = named ? p.passing.held(*named, p.memory->letter(self_.rank)) : std::nullopt;
  if (named && !place) return std::nullopt;
  if (kind == Slot::token && !chance_) {
    std::uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return std::nullopt;
    chance_.emplace(seed);
  }
  const auto chance = kind == Slot::token ? (*chance_)() : 0;
  for (std::uint32_t tried = 0; tried < slots; ++tried) {
    const auto index = next_slot_++ % slots;
    auto& slot = own_->greeting().slots[index];
    if (slot.state.load(std::memory_order_relaxed) != Slot::free || (kind != Slot::token && p.avoided[kind][index])) continue;
    slot.size = size;
    slot.gpu = gpu;
    slot.kind = kind;
    slot.name = (chance | 1) * name_ranks * slots + self_.rank % name_ranks * slots + index;  // never 0
    std::copy(head.begin(), head.end(), own_->greeting().heads[index]);
    const auto region = gpu ? std::optional(Region()) : regions_.take(room_for(slot, index));
    if (!region) return std::nullopt;
    slot.receiver = receiver;
    slot.serial = next_serial_++;
    slot.region = region->begin;
    slot.tag = tag;
    slot.packed.store(Slot::no, std::memory_order_relaxed);
    slot.mover.store(Slot::nobody, std::memory_order_relaxed);
    slot.ready.store(0, std::memory_order_relaxed);
    slot.written.store(0, std::memory_order_relaxed);
    slot.read.store(0, std::memory_order_relaxed);
    slot.turned.store(~std::uint64_t{0}, std::memory_order_relaxed);
    slot.state.store(Slot::offered, std::memory_order_release);
    offered_.push_back({index, *region, place});
    return Outgoing(own_.get(), p.memory.get(), index);
  }
  return std::nullopt;
}

bool World::make_room(const Outgoing& outgoing, bool must) {
  const std::lock_guard lock(mutex_);
  auto& slot = outgoing.slot();
  for (auto& o : offered_) {
    if (o.slot != outgoing.slot_) continue;
    const auto region = gpu_regions_.take(slot.size, must);
    if (!region) return false;
    o.region = *region;
    slot.region = region->begin;
    return true;
  }
  return false;
}

void World::avoid(std::uint32_t receiver, std::int64_t length) {
  if (receiver >= self_.ranks || !ticket_length(length)) return;
  const std::lock_guard lock(mutex_);
  peer(receiver).avoided[gpu_lengths.has(length)].set(slot_of(length));
}

std::optional<Incoming> World::recognise(const Ticket& ticket, std::int64_t length) {
  if (ticket.magic != Ticket::known_magic || ticket.receiver != self_.rank || ticket.sender >= self_.ranks || ticket.slot >= slots || !ticket_length(length))
    return std::nullopt;
  if ((ticket.way != Ticket::gpu && ticket.way != Ticket::shared_memory) || ticket.slot != slot_of(length)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto& p = peers_[ticket.sender];
  if (!p || !p->memory) return std::nullopt;
  const auto& slot = p->memory->greeting().slots[ticket.slot];
  if (slot.state.load(std::memory_order_acquire) != Slot::offered || slot.receiver != self_.rank || slot.serial != ticket.serial || slot.size != ticket.size ||
      (slot.gpu != 0) != (ticket.way == Ticket::gpu) || length_of(slot, ticket.slot) != length)
    return std::nullopt;
  return Incoming(p->memory.get(), ticket.slot);
}

std::int64_t World::size_of(std::uint32_t sender, std::int64_t length, int tag) {
  if (sender >= self_.ranks || !ticket_length(length)) return length;
  const std::lock_guard lock(mutex_);
  const auto& p = peers_[sender];
  if (!p || !p->memory) return length;
  const auto& slot = p->memory->greeting().slots[slot_of(length)];
  const bool offered = slot.state.load(std::memory_order_acquire) == Slot::offered && slot.receiver == self_.rank && slot.tag == tag &&
                       length_of(slot, slot_of(length)) == length;
  return offered ? slot.size : length;
}

bool World::expects(std::int64_t length) {
  const std::lock_guard lock(mutex_);
  for (const auto& p : peers_) {
    if (!p || !p->memory) continue;
    const auto& slot = p->memory->greeting().slots[slot_of(length)];
    if (slot.state.load(std::memory_order_acquire) == Slot::offered && slot.receiver == self_.rank && length_of(slot, slot_of(length)) == length) return true;
  }
  return false;
}

bool World::all_received(bool in_doubt) {
  const std::lock_guard lock(mutex_);
  collect();
  std::erase_if(offered_, [&](const Offered& o) {
    const auto& slot = own_->greeting().slots[o.slot];
    const auto& memory = peer(slot.receiver).memory;
    // What was begun and not seen through has been received all the same.
    if (slot.state.load(std::memory_order_acquire) == Slot::done) return true;
    const bool unwanted = slot.state.load(std::memory_order_acquire) == Slot::offered && memory->greeting().leaving.load(std::memory_order_acquire);
    return unwanted || (in_doubt && !memory->alive());
  });
  if (!publications_.collect() && in_doubt && nobody_reads()) publications_.forget();
  return offered_.empty() && publications_.collect();
}

World::Whereabouts World::whereabouts() const { return {0, own_->greeting().process, own_->file()}; }

bool World::learn(std::vector<Whereabouts> all) {
  const std::lock_guard lock(mutex_);
  whereabouts_ = std::move(all);
  for (std::uint32_t rank = 0; rank < self_.ranks; ++rank) {
    if (!beside(rank)) continue;
    // Now, as a program may take away what it needs later: file descriptors, addresses.
    auto& p = peer(rank);
    if (!p.memory) p.memory = Memory::open({self_.job, rank, self_.ranks}, whereabouts_[rank].process, whereabouts_[rank].file);
    if (!p.memory) return false;
  }
  return true;
}

bool World::nobody_reads() {
  for (std::uint32_t rank = 0; rank < self_.ranks; ++rank) {
    if (!beside(rank)) continue;
    const auto& memory = peer(rank).memory;
    if (memory && !memory->greeting().leaving.load(std::memory_order_acquire) && memory->alive()) return false;
  }
  return true;
}

std::optional<World::Published> World::publish(std::int64_t size, std::uint32_t readers, std::shared_ptr<const void> kept) {
  const std::lock_guard lock(mutex_);
  const auto serial = next_serial_++;
  const auto begin = publications_.make(serial, size, readers, std::move(kept));
  if (!begin) return std::nullopt;
  auto* publication = reinterpret_cast<Publication*>(own_->data() + *begin);
  return Published{*begin, serial, own_->data() + *begin + Publication::data_begin, &publication->written};
}

std::optional<Reading> World::published(std::uint32_t rank, std::uint64_t begin, std::uint64_t serial, std::int64_t size) {
  const std::lock_guard lock(mutex_);
  if (rank >= whereabouts_.size() || size < 0 || begin >= gpu_regions_begin || static_cast<std::uint64_t>(size) > gpu_regions_begin - begin) return std::nullopt;
  const auto& memory = peer(rank).memory;
  if (!memory) return std::nullopt;
  auto* publication = reinterpret_cast<Publication*>(memory->data() + begin);
  if (publication->serial != serial || publication->size != size) return std::nullopt;
  return Reading(publication, memory.get());
}

}  // namespace dunnage::transport::shm
