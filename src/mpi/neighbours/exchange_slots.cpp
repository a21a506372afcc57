#include "mpi/neighbours/exchange_slots.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"
#include "plan/edge_way.hpp"
#include "transport/shm/agreement.hpp"
#include "transport/shm/whole_lines.hpp"

namespace dunnage::mpi {

using transport::shm::exchange_slots;
using transport::shm::ExchangeSlot;

/// What a rank has published. Behind it stand an entry for each rank that it sends to, and then the
/// slots of each.
struct alignas(64) ExchangeSlots::Board {
  transport::shm::Agreement left;  // used of the first rank only: from which call on the MPI does all
  std::int64_t readers = 0;
  struct Entry {
    std::int64_t reader = 0, edges = 0;  // rank in the communicator
  };
  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  static std::int64_t entries_size(std::size_t readers) {
    return transport::shm::whole_lines(static_cast<std::int64_t>(readers * sizeof(Entry)));
  }
  ExchangeSlot* slots(std::size_t reader) {
    auto* first = reinterpret_cast<char*>(this + 1) + entries_size(static_cast<std::size_t>(readers));
    return reinterpret_cast<ExchangeSlot*>(first) + reader * exchange_slots;
  }
  static std::int64_t size(std::size_t readers) {
    return static_cast<std::int64_t>(sizeof(Board) + readers * exchange_slots * sizeof(ExchangeSlot)) +
           entries_size(readers);
  }
};

/// By which the others find what a rank has published.
struct ExchangeSlots::Place {
  std::uint64_t begin = 0, serial = 0;
  std::int64_t size = 0;
  std::int64_t well = 0, gpu = 0;
  std::int64_t odd = 0;  // several edges lead to one rank, or some to this one: the MPIs then make mistakes
};

namespace {

/// Whether the MPI is the better one for an exchange, because most of its data lie in one piece. An
/// MPI copies such data once, and exchanges through published memory copy them twice.
bool is_the_mpis(const std::vector<ExchangeSlots::Row>& rows, const Edges& edges) {
  std::int64_t pieces = 0, all = 0;
  for (const auto& row : rows)
    for (const auto edge : row.edges) {
      const auto& one = edges.sends[edge];
      const auto* known = one.type != MPI_DATATYPE_NULL ? known_type(one.type) : nullptr;
      if (!known) continue;
      const auto bytes = one.count * known->bytes();
      const bool contiguous = known->reason() == plan::Reason::contiguous;
      if (plan::edge_way(contiguous, bytes) == plan::EdgeWay::message) pieces += bytes;
      all += bytes;
    }
  return 2 * pieces > all;
}

}  // namespace

ExchangeSlots::ExchangeSlots(const Neighbourhood& hood) : orphaned_(hood.orphaned) {
  for (const auto& loop : hood.loops) {
    own_targets_.push_back(loop.target);
    own_sources_.push_back(loop.source);
  }
}

ExchangeSlots::~ExchangeSlots() {
  delete last_.load();
  if (process->world) {
    if (published_) process->world->publications.end(*published_);
    return;
  }
  for (auto& reading : found_) (void)reading.release();  // the writer's memory is no longer mapped
}

bool ExchangeSlots::possible() { return process->alone || (process->shares && !process->several_hosts); }

ExchangeSlots::Found ExchangeSlots::connect(const Neighbourhood& hood, MPI_Comm comm, bool gpu) {
  std::shared_ptr<ExchangeSlots> slots;
  Place own;
  std::vector<Place> all(static_cast<std::size_t>(members(comm)));
  guarded([&] {
    slots.reset(new ExchangeSlots(hood));
    own = slots->publish(hood, comm);
  });
  own.gpu = gpu;
  constexpr int size = sizeof(Place);
  const int code = process->own.Allgather(&own, size, MPI_BYTE, all.data(), size, MPI_BYTE, comm);
  if (code != MPI_SUCCESS) return {};
  const bool somewhere = std::ranges::any_of(all, [](const Place& one) { return one.gpu != 0; });
  const bool well = std::ranges::all_of(all, [](const Place& one) { return one.well != 0; });
  if (!somewhere && well) {
    // The others do not know whether this rank finds them.
    slots->broken_ = guarded([&] { slots->find(hood, comm, all); }) != MPI_SUCCESS;
    if (std::ranges::any_of(all, [](const Place& one) { return one.odd != 0; })) slots->left_ = nullptr;
    return {slots, false};
  }
  if (slots && slots->published_)
    process->world->publications.end(*std::exchange(slots->published_, std::nullopt), slots->readers_);
  return {nullptr, somewhere};
}

ExchangeSlots::Place ExchangeSlots::publish(const Neighbourhood& hood, MPI_Comm comm) {
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(comm, &self);
  if (members(comm) == 1) return {.well = 1};  // there is nobody to read it
  auto targets = by_peer(hood.targets, self);
  const auto size = Board::size(targets.size());
  // All ranks read the first one's.
  readers_ = static_cast<std::uint32_t>(self == 0 ? members(comm) - 1 : static_cast<int>(targets.size()));
  auto& publications = process->world->publications;
  published_ = publications.publish(size, readers_, nullptr, transport::shm::Publications::Stay::standing);
  if (!published_) return {};
  auto* board = new (published_->data) Board;
  board->readers = static_cast<std::int64_t>(targets.size());
  if (self == 0) left_ = &board->left;
  Place place{published_->begin, published_->serial, size, 1};
  place.odd = !own_targets_.empty();
  for (auto& [peer, edges] : targets) {
    place.odd |= edges.size() > 1;
    const auto number = out_.size();
    new (board->entries() + number) Board::Entry{peer, static_cast<std::int64_t>(edges.size())};
    auto* slots = board->slots(number);
    for (std::uint64_t i = 0; i < exchange_slots; ++i) new (slots + i) ExchangeSlot;
    out_.push_back({static_cast<std::uint32_t>(world_rank(comm, peer)), std::move(edges)});
    outboxes_.push_back({slots, {}});
  }
  return place;
}

void ExchangeSlots::find(const Neighbourhood& hood, MPI_Comm comm, const std::vector<Place>& places) {
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(comm, &self);
  const auto board_of = [&](int peer) {
    const auto& place = places[static_cast<std::size_t>(peer)];
    const auto rank = static_cast<std::uint32_t>(world_rank(comm, peer));
    auto reading = process->world->published(rank, place.begin, place.serial, place.size);
    if (!reading) throw std::bad_alloc();
    found_.push_back(std::make_unique<transport::shm::Reading>(std::move(*reading)));
    return reinterpret_cast<Board*>(const_cast<char*>(found_.back()->data()));
  };
  auto sources = by_peer(hood.sources, self);
  auto* const first = self != 0 ? board_of(0) : nullptr;
  if (first) left_ = &first->left;
  for (auto& [peer, edges] : sources) {
    auto* board = peer == 0 ? first : board_of(peer);
    const auto* entries = board->entries();
    const auto* last = entries + board->readers;
    const auto* entry = std::find_if(entries, last, [&](const Board::Entry& one) { return one.reader == self; });
    if (entry == last || entry->edges != static_cast<std::int64_t>(edges.size())) throw std::bad_alloc();
    in_.push_back({static_cast<std::uint32_t>(world_rank(comm, peer)), std::move(edges)});
    inboxes_.push_back({board->slots(static_cast<std::size_t>(entry - entries)), 1, {}});
  }
}

std::optional<std::uint64_t> ExchangeSlots::next(const Edges& edges) {
  const auto call = ++calls_;
  // All ranks write to the word of the agreement. So they ask seldom.
  if (left_ && std::has_single_bit(call))
    is_left_ = transport::shm::agreed(*left_, ++questions_, [&] { return is_the_mpis(out_, edges); });
  return is_left_ ? std::nullopt : std::optional(call);
}

void ExchangeSlots::Outbox::flush() {
  while (!waiting.empty() && transport::shm::post(slots, waiting.front().first, waiting.front().second))
    waiting.pop_front();
}

void ExchangeSlots::post(std::size_t row, std::uint64_t exchange, const transport::shm::PostedExchange& what) {
  const std::lock_guard lock(mutex_);
  auto& box = outboxes_[row];
  if (!box.waiting.empty() || !transport::shm::post(box.slots, exchange, what))
    box.waiting.emplace_back(exchange, what);
}

bool ExchangeSlots::is_posted(std::size_t row, std::uint64_t exchange) {
  const std::lock_guard lock(mutex_);
  auto& box = outboxes_[row];
  box.flush();
  return box.waiting.empty() || box.waiting.front().first > exchange;
}

bool ExchangeSlots::take(std::size_t row, std::uint64_t exchange, transport::shm::PostedExchange& what) {
  const std::lock_guard lock(mutex_);
  auto& box = inboxes_[row];
  while (transport::shm::take(box.slots, box.next, what)) {
    if (box.next++ == exchange) return true;
    what.copy_to(box.seen[box.next - 1]);
  }
  const auto seen = box.seen.find(exchange);
  if (seen == box.seen.end()) return false;
  seen->second.copy_to(what);
  box.seen.erase(seen);
  return true;
}

std::unique_ptr<ExchangeSlots::Buffers> ExchangeSlots::take_buffers() {
  std::unique_ptr<Buffers> buffers(last_.exchange(nullptr));
  if (!buffers) buffers = std::make_unique<Buffers>();
  buffers->out.resize(out_.size());
  buffers->in.resize(in_.size());
  return buffers;
}

}  // namespace dunnage::mpi
