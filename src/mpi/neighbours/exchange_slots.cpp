#include "mpi/neighbours/exchange_slots.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "mpi/process/communicators.hpp"
#include "mpi/process/failure.hpp"
#include "plan/edge_way.hpp"
#include "transport/shm/agreement.hpp"

namespace dunnage::mpi {

using transport::shm::PostedExchange;
using transport::shm::Publications;
using transport::shm::SlotBlock;

/// What a rank has published. Behind it stands an entry for each rank that it sends to.
struct ExchangeSlots::Board {
  transport::shm::Agreement left;  // used of the first rank only: from which call on the MPI does all
  std::int64_t readers = 0;
  struct Entry {
    std::int64_t reader = 0;              // rank in the communicator
    std::uint64_t begin = 0, serial = 0;  // of its first block
  };
  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  static std::int64_t size(std::size_t readers) {
    return static_cast<std::int64_t>(sizeof(Board) + readers * sizeof(Entry));
  }
};

/// By which the others find what a rank has published.
struct ExchangeSlots::Place {
  std::uint64_t begin = 0, serial = 0;
  std::int64_t size = 0;
  std::int64_t well = 0, gpu = 0;
  std::int64_t odd = 0;  // several edges lead to one rank, or one to this rank: there the MPIs make mistakes
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

/// A block for one reader. Returns nothing if there is no memory.
std::optional<Publications::Published> publish_block() {
  auto block = process->world->publications.publish(sizeof(SlotBlock), 1, nullptr, Publications::Stay::standing);
  if (block) new (block->data) SlotBlock;
  return block;
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
    auto& publications = process->world->publications;
    for (const auto& box : outboxes_) publications.end(box.block);
    if (board_) publications.end(*board_);
    return;
  }
  // The other ranks' memory is no longer mapped.
  for (auto& box : inboxes_) (void)box.block.release();
  (void)first_board_.release();
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
  const auto some = [&](auto member) {
    return std::ranges::any_of(all, [&](const Place& one) { return one.*member != 0; });
  };
  const bool known = code == MPI_SUCCESS;
  const bool well = known && std::ranges::all_of(all, [](const Place& one) { return one.well != 0; });
  if (!well || some(&Place::gpu)) {
    if (slots) slots->give_up();
    return {nullptr, known && some(&Place::gpu)};
  }
  bool here = false;
  guarded([&] { here = slots->find(hood, comm, all); });
  if (!all_agree(comm, here)) return {};
  if (some(&Place::odd)) slots->left_ = nullptr;
  return {slots, false};
}

ExchangeSlots::Place ExchangeSlots::publish(const Neighbourhood& hood, MPI_Comm comm) {
  Place place;
  place.well = 1;
  if (members(comm) == 1) return place;  // there is nobody to read it
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(comm, &self);
  auto targets = by_peer(hood.targets, self);
  // All ranks read the first one's.
  readers_ = static_cast<std::uint32_t>(self == 0 ? members(comm) - 1 : static_cast<int>(targets.size()));
  place.size = Board::size(targets.size());
  board_ = process->world->publications.publish(place.size, readers_, nullptr, Publications::Stay::standing);
  if (!board_) return {};
  place.begin = board_->begin;
  place.serial = board_->serial;
  place.odd = !own_targets_.empty();
  auto* board = new (board_->data) Board;
  if (self == 0) left_ = &board->left;
  for (auto& [peer, edges] : targets) {
    const auto block = publish_block();
    if (!block) return {};
    outboxes_.push_back({*block});
    new (board->entries() + board->readers++) Board::Entry{peer, block->begin, block->serial};
    place.odd |= edges.size() > 1;
    out_.push_back({static_cast<std::uint32_t>(world_rank(comm, peer)), std::move(edges)});
  }
  return place;
}

/// Nobody will read what this rank has published.
void ExchangeSlots::give_up() {
  if (!board_) return;
  auto& publications = process->world->publications;
  for (const auto& box : outboxes_) publications.withdraw(box.block);
  outboxes_.clear();
  publications.end(*std::exchange(board_, std::nullopt), readers_);
}

bool ExchangeSlots::find(const Neighbourhood& hood, MPI_Comm comm, const std::vector<Place>& places) {
  int self = MPI_PROC_NULL;
  process->own.Comm_rank(comm, &self);
  const auto published = [](std::uint32_t rank, std::uint64_t begin, std::uint64_t serial, std::int64_t size) {
    auto reading = process->world->published(rank, begin, serial, size);
    return reading ? std::make_unique<Reading>(std::move(*reading)) : nullptr;
  };
  const auto board_of = [&](int peer) {
    const auto& place = places[static_cast<std::size_t>(peer)];
    return published(static_cast<std::uint32_t>(world_rank(comm, peer)), place.begin, place.serial, place.size);
  };
  const auto in = [](const Reading& reading) { return reinterpret_cast<Board*>(const_cast<char*>(reading.data())); };
  if (self != 0) {
    first_board_ = board_of(0);
    if (!first_board_) return false;
    left_ = &in(*first_board_)->left;
  }
  for (auto& [peer, edges] : by_peer(hood.sources, self)) {
    const auto own = peer == 0 ? nullptr : board_of(peer);
    if (peer != 0 && !own) return false;
    auto* board = in(peer == 0 ? *first_board_ : *own);
    const auto* last = board->entries() + board->readers;
    const auto* entry = std::find_if(board->entries(), board->entries() + board->readers,
                                     [&](const Board::Entry& one) { return one.reader == self; });
    if (entry == last) continue;  // the graph is wrong: that rank sends nothing
    const auto rank = static_cast<std::uint32_t>(world_rank(comm, peer));
    auto block = published(rank, entry->begin, entry->serial, sizeof(SlotBlock));
    if (!block) return false;
    in_.push_back({rank, edges});
    inboxes_.push_back({rank, std::move(block)});
  }
  return true;
}

std::optional<std::uint64_t> ExchangeSlots::next(const Edges& edges) {
  const auto call = ++calls_;
  // All ranks write to the word of the agreement. So they ask seldom.
  if (left_ && std::has_single_bit(call))
    is_left_ = transport::shm::agreed(*left_, ++questions_, [&] { return is_the_mpis(out_, edges); });
  return is_left_ ? std::nullopt : std::optional(call);
}

/// To the next block. Without memory for it all exchanges to come are lost.
void ExchangeSlots::Outbox::go_on() {
  auto* full = reinterpret_cast<SlotBlock*>(block.data);
  const auto fresh = publish_block();
  lost = !fresh;
  if (fresh) full->next_begin = fresh->begin;
  full->next.store(fresh ? fresh->serial : SlotBlock::lost, std::memory_order_release);
  if (!fresh) return;
  process->world->publications.end(block);
  block = *fresh;
  first += SlotBlock::count;
}

int ExchangeSlots::post(std::size_t row, std::uint64_t exchange, const PostedExchange& what) {
  const std::lock_guard lock(mutex_);
  auto& box = outboxes_[row];
  if (exchange == box.first + SlotBlock::count) box.go_on();
  if (box.lost) return MPI_ERR_OTHER;
  transport::shm::post(*reinterpret_cast<SlotBlock*>(box.block.data), exchange, what);
  return MPI_SUCCESS;
}

/// Whether the next exchange is there.
bool ExchangeSlots::Inbox::look(PostedExchange& what) {
  const auto in = [](const Reading& reading) {
    return reinterpret_cast<SlotBlock*>(const_cast<char*>(reading.data()));
  };
  if (next == first + SlotBlock::count && !lost) {
    const auto* full = in(*block);
    const auto serial = full->next.load(std::memory_order_acquire);
    if (serial == 0) return false;
    auto reading = serial == SlotBlock::lost
                       ? std::nullopt
                       : process->world->published(rank, full->next_begin, serial, sizeof(SlotBlock));
    lost = !reading;
    first = next;
    if (reading) block = std::make_unique<Reading>(std::move(*reading));
  }
  if (!lost) return transport::shm::take(*in(*block), next, what);
  what.data = PostedExchange::Data::none;
  return true;
}

bool ExchangeSlots::take(std::size_t row, std::uint64_t exchange, PostedExchange& what) {
  const std::lock_guard lock(mutex_);
  auto& box = inboxes_[row];
  while (box.next <= exchange && box.look(what)) {
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
