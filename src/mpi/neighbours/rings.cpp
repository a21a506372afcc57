#include "mpi/neighbours/rings.hpp"

#include <algorithm>
#include <map>

#include "mpi/neighbours/own_copies.hpp"
#include "mpi/neighbours/patient_wait.hpp"
#include "mpi/neighbours/ring_piece.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"
#include "transport/shm/whole_lines.hpp"

namespace dunnage::mpi {
namespace {

using transport::shm::edge_ring_size;
using transport::shm::whole_lines;

/// A ring in what a rank has published: where it begins, and how long it is. Such entries stand at
/// the beginning, one for each target.
struct Entry {
  std::int64_t receiver = 0;  // rank in the communicator
  std::int64_t edges = 0, begin = 0, size = 0;
};

/// A ring of a blocking exchange holds what one rank writes while the other unpacks.
constexpr std::int64_t blocking_ring = 8 * ring_piece;
/// A ring of a persistent operation holds two exchanges: then a start never waits. This is the most
/// for all rings of an operation.
constexpr std::int64_t most_persistent = 64 << 20;

/// Bytes of a ring for the data along some edges of a persistent operation.
std::int64_t persistent_ring(const Edges& edges, const std::vector<std::size_t>& places) {
  EdgeBuffers buffers;
  buffers.take(edges.sends, places);
  return std::max<std::int64_t>(whole_lines(2 * buffers.bytes()), 64);
}

}  // namespace

struct Rings::Parts {
  /// By which the others find what a rank has published.
  struct Place {
    std::uint64_t begin = 0, serial = 0;
    std::int64_t size = 0;
    std::int64_t well = 0;  // 0: the rank has published nothing, and there will be no rings
  };
  int self = MPI_PROC_NULL;
  std::map<int, std::vector<std::size_t>> targets, sources;  // without this rank itself
  Place own;
  std::vector<Place> all;
};

Rings::Rings(Hook hook, const Neighbourhood& hood, int tags)
    : hook_(hook), orphaned_(hood.orphaned), messages_(hood.beside_rings, tags) {
  for (const auto& loop : hood.loops) {
    own_targets_.push_back(loop.target);
    own_sources_.push_back(loop.source);
  }
}

Rings::~Rings() {
  if (process->world) {
    if (published_) process->world->publications.end(*published_);
    return;
  }
  for (auto& reading : found_) (void)reading.release();  // the sender's memory is no longer mapped
}

bool Rings::possible(const Neighbourhood& hood, MPI_Comm comm) {
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(comm, &self);
  const auto far = [&](const Edge& edge) {
    if (edge.peer < 0 || edge.peer == self) return false;
    const int rank = world_rank(comm, edge.peer);
    return !process->world || rank < 0 || !process->world->peers.near(static_cast<std::uint32_t>(rank));
  };
  return std::none_of(hood.targets.begin(), hood.targets.end(), far) &&
         std::none_of(hood.sources.begin(), hood.sources.end(), far);
}

std::unique_ptr<Rings> Rings::connect(Hook hook, Neighbourhood& hood, MPI_Comm comm, const Edges* persistent) {
  const auto& own = process->own;
  if (!hood.beside_rings) hood.beside_rings = split_message_comm(hood, comm);
  if (!hood.beside_rings) return nullptr;
  const int tags = persistent ? hood.next_tags() : 0;
  std::unique_ptr<Rings> rings;
  Parts parts;
  parts.all.resize(static_cast<std::size_t>(members(comm)));
  // Whatever fails here, all ranks tell each other.
  guarded([&] {
    own.Comm_rank(comm, &parts.self);
    parts.targets = by_peer(hood.targets, parts.self);
    parts.sources = by_peer(hood.sources, parts.self);
    rings.reset(new Rings(hook, hood, tags));
    parts.own.well = possible(hood, comm) && rings->publish(parts, comm, persistent);
  });
  constexpr int size = sizeof(Parts::Place);
  if (own.Allgather(&parts.own, size, MPI_BYTE, parts.all.data(), size, MPI_BYTE, comm) != MPI_SUCCESS) return nullptr;
  const auto well = [](const Parts::Place& one) { return one.well != 0; };
  if (!std::all_of(parts.all.begin(), parts.all.end(), well)) return nullptr;
  bool here = false;
  guarded([&] { here = rings->find(parts, comm, persistent); });
  if (!all_agree(comm, here)) return nullptr;
  return rings;
}

bool Rings::publish(Parts& parts, MPI_Comm comm, const Edges* persistent) {
  if (!parts.targets.empty()) {
    std::vector<Entry> entries;
    auto end = whole_lines(static_cast<std::int64_t>(parts.targets.size() * sizeof(Entry)));
    for (const auto& [peer, places] : parts.targets) {
      const auto size = persistent ? persistent_ring(*persistent, places) : blocking_ring;
      entries.push_back({peer, static_cast<std::int64_t>(places.size()), end, size});
      end += edge_ring_size(places.size(), size);
      if (persistent && end > most_persistent) return false;
    }
    const auto readers = static_cast<std::uint32_t>(entries.size());
    published_ =
        process->world->publications.publish(end, readers, nullptr, transport::shm::Publications::Stay::standing);
    if (!published_) return false;
    std::copy(entries.begin(), entries.end(), reinterpret_cast<Entry*>(published_->data));
    for (const auto& entry : entries) {
      const int peer = static_cast<int>(entry.receiver);
      const auto rank = static_cast<std::uint32_t>(world_rank(comm, peer));
      out_.push_back(std::make_unique<OutRing>(peer, rank, parts.targets[peer], parts.sources.contains(peer),
                                               published_->data + entry.begin, entry.size));
    }
    parts.own = {published_->begin, published_->serial, end, 0};
  }
  if (persistent) take_sends(*persistent);
  return true;
}

bool Rings::find(Parts& parts, MPI_Comm comm, const Edges* persistent) {
  for (const auto& [peer, places] : parts.sources) {
    const auto& place = parts.all[static_cast<std::size_t>(peer)];
    const auto rank = static_cast<std::uint32_t>(world_rank(comm, peer));
    auto reading = process->world->published(rank, place.begin, place.serial, place.size);
    if (!reading) return false;
    auto* data = const_cast<char*>(reading->data());
    found_.push_back(std::make_unique<Reading>(std::move(*reading)));
    const auto* entry = reinterpret_cast<const Entry*>(data);
    const auto* last = reinterpret_cast<const Entry*>(data + entry->begin);
    entry = std::find_if(entry, last, [&](const Entry& one) { return one.receiver == parts.self; });
    if (entry == last || entry->edges != static_cast<std::int64_t>(places.size())) return false;
    in_.push_back(std::make_unique<InRing>(peer, rank, places, data + entry->begin, entry->size));
    if (persistent) in_.back()->know_sizes();
  }
  if (persistent) take_receives(*persistent);
  return true;
}

void Rings::take_sends(const Edges& edges) {
  for (auto& ring : out_) ring->take(edges.sends);
  own_taken_ = guarded([&] { own_out_.take(edges.sends, own_targets_); });
}

void Rings::take_receives(const Edges& edges) {
  for (auto& ring : in_) ring->take(edges.receives);
  const int code = guarded([&] { own_in_.take(edges.receives, own_sources_); });
  if (own_taken_ == MPI_SUCCESS) own_taken_ = code;
}

int Rings::exchange(Hook hook, const Edges& edges) {
  hook_ = hook;
  take_sends(edges);
  take_receives(edges);
  const Accelerated counted(hook_, bytes());
  begin();
  return wait();
}

std::int64_t Rings::bytes() const {
  std::int64_t all = own_out_.bytes();
  for (const auto& ring : out_) all += ring->bytes();
  return all;
}

void Rings::begin() {
  if (process->reporting) process->count_of(hook_).rings.fetch_add(1, std::memory_order_relaxed);
  ++exchange_;
  code_ = MPI_SUCCESS;
  moved_ = own_targets_.empty();
  messages_.forget_error();
  for (auto& ring : in_) ring->begin(exchange_, messages_);
  for (auto& ring : out_) ring->begin(exchange_, messages_);
}

int Rings::start() {
  const Accelerated counted(hook_, bytes());
  begin();
  // The rings have room for all of it. So the neighbours need no further call of this rank. In
  // between it reads what is there, so that less of the rings is used.
  std::int64_t longest = 0;
  for (const auto& ring : out_) longest = std::max(longest, ring->bytes());
  for (std::int64_t written = 0; written <= longest && !test();) written += blocking_ring;
  return MPI_SUCCESS;
}

bool Rings::test() {
  bool ended = true;
  for (auto& ring : out_) ended &= ring->write(blocking_ring);
  if (!std::exchange(moved_, true)) move();
  for (auto& ring : in_) {
    if (ring->ended()) continue;
    if (ring->read(messages_))
      note(ring->code());
    else
      ended = false;
  }
  ended &= messages_.test();
  if (!ended) return false;
  note(messages_.code());
  for (auto& ring : out_) {
    ended &= ring->ended();
    note(ring->code());
  }
  return ended;
}

void Rings::move() {
  note(own_taken_);
  note(copy_own(own_out_, own_in_));
}

int Rings::wait() {
  return wait_patiently([&] { return test(); }, [&] { return forsaken(); }) ? code_ : MPI_ERR_OTHER;
}

bool Rings::forsaken() const {
  const auto in = [](const auto& ring) { return !ring->ended() && has_ended(ring->sender()); };
  const auto out = [](const auto& ring) { return !(ring->written() && ring->ended()) && has_ended(ring->receiver()); };
  return std::any_of(in_.begin(), in_.end(), in) || std::any_of(out_.begin(), out_.end(), out) ||
         messages_.any_partner(has_ended);
}

}  // namespace dunnage::mpi
