#include "mpi/neighbours/slot_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory/landing.hpp"
#include "mpi/message/copy_within.hpp"
#include "mpi/neighbours/patient_wait.hpp"
#include "mpi/process/failure.hpp"
#include "transport/shm/whole_lines.hpp"

namespace dunnage::mpi {

using transport::shm::PostedExchange;
using Data = PostedExchange::Data;

namespace {

/// What stands before the packed data of a row: the size of each edge's.
constexpr std::int64_t sizes_size(std::size_t edges) { return static_cast<std::int64_t>(edges * sizeof(std::int64_t)); }

/// Throws what the memory throws.
void pack_edges(const EdgeBuffers& buffers, char* part) {
  auto* to = part + sizes_size(buffers.count());
  for (std::size_t i = 0; i < buffers.count(); ++i) {
    const auto bytes = buffers.bytes(i);
    std::memcpy(part + sizes_size(i), &bytes, sizeof bytes);
    if (bytes > 0) buffers[i].pack(to, 0, bytes);
    to += bytes;
  }
}

/// Throws what the memory throws.
void unpack_to(const memory::Buffer& buffer, const char* from, std::int64_t bytes) {
  const memory::Landing landing{buffer};
  landing.restart();
  landing.place(from, 0, bytes);
  landing.finish();
}

}  // namespace

SlotExchange::SlotExchange(Hook hook, std::shared_ptr<ExchangeSlots> slots, std::uint64_t number)
    : hook_(hook),
      slots_(std::move(slots)),
      number_(number),
      buffers_(slots_->take_buffers()),
      posts_(slots_->out().size()),
      read_(slots_->in().size()),
      unread_(slots_->in().size()) {
  if (slots_->broken()) note(MPI_ERR_OTHER);
}

void SlotExchange::begin(const Edges& edges) {
  if (process->reporting) process->count_of(hook_).rings.fetch_add(1, std::memory_order_relaxed);
  const auto& to = slots_->out();
  const auto& from = slots_->in();
  std::int64_t bytes = 0;
  for (std::size_t row = 0; row < to.size(); ++row) {
    auto& buffers = buffers_->out[row];
    const int code = guarded([&] { buffers.take(edges.sends, to[row].edges); });
    note(code);
    posts_[row].data = code == MPI_SUCCESS ? Data::here : Data::none;
    bytes += buffers.bytes();
  }
  const int own = guarded([&] {
    buffers_->own_out.take(edges.sends, slots_->own_targets());
    buffers_->own_in.take(edges.receives, slots_->own_sources());
  });
  note(own);
  const Accelerated counted(hook_, bytes + buffers_->own_out.bytes());
  if (!to.empty()) pack();
  for (std::size_t row = 0; row < to.size(); ++row) slots_->post(row, number_, posts_[row]);
  for (std::size_t row = 0; row < from.size(); ++row)
    note(guarded([&] { buffers_->in[row].take(edges.receives, from[row].edges); }));
  if (own == MPI_SUCCESS) note(guarded([&] { move_own(); }));
}

void SlotExchange::pack() {
  std::int64_t size = 0;
  std::uint32_t readers = 0;
  for (std::size_t row = 0; row < posts_.size(); ++row) {
    auto& post = posts_[row];
    post.size = sizes_size(buffers_->out[row].count()) + buffers_->out[row].bytes();
    if (post.data == Data::none || post.size <= PostedExchange::room) continue;
    post.data = Data::published;
    post.place = size;
    size += transport::shm::whole_lines(post.size);
    ++readers;
  }
  transport::shm::Publications::Published room;
  auto& publications = process->world->publications;
  const int code = readers == 0 ? MPI_SUCCESS : guarded([&] {
    const auto published = publications.publish(size, readers);
    if (!published) throw std::bad_alloc();
    room = *published;
  });
  note(code);
  std::uint32_t failed = 0;
  for (std::size_t row = 0; row < posts_.size(); ++row) {
    auto& post = posts_[row];
    if (post.data == Data::none) continue;
    const bool here = post.data == Data::here;
    if (!here) {
      post.size = size;
      post.begin = room.begin;
      post.serial = room.serial;
    }
    const int packed = here || room.data
                           ? guarded([&] { pack_edges(buffers_->out[row], here ? post.here : room.data + post.place); })
                           : code;
    note(packed);
    if (packed == MPI_SUCCESS) continue;
    post.data = Data::none;
    failed += !here;
  }
  if (room.data) publications.end(room, failed);
}

void SlotExchange::move_own() {
  const auto& from = buffers_->own_out;
  const auto& to = buffers_->own_in;
  for (std::size_t i = 0; i < from.count() && i < to.count(); ++i) {
    const auto bytes = from.bytes(i);
    if (bytes > to.bytes(i)) note(MPI_ERR_TRUNCATE);
    if (bytes == 0 || bytes > to.bytes(i)) continue;
    const memory::Landing landing{to[i]};
    landing.restart();
    copy_by_host(from[i], landing, bytes);
    landing.finish();
  }
}

bool SlotExchange::read(std::size_t row) {
  PostedExchange what;
  if (!slots_->take(row, number_, what)) return false;
  if (what.data == Data::here) {
    note(guarded([&] { unpack(row, what.here); }));
  } else if (what.data == Data::published) {
    const auto rank = slots_->in()[row].rank;
    const auto reading = process->world->published(rank, what.begin, what.serial, what.size);
    note(reading ? guarded([&] { unpack(row, reading->data() + what.place); }) : MPI_ERR_OTHER);
  } else {
    note(MPI_ERR_OTHER);
  }
  return true;
}

void SlotExchange::unpack(std::size_t row, const char* part) {
  const auto edges = slots_->in()[row].edges.size();
  const auto& buffers = buffers_->in[row];
  const auto* data = part + sizes_size(edges);
  for (std::size_t i = 0; i < edges; ++i) {
    std::int64_t bytes = 0;
    std::memcpy(&bytes, part + sizes_size(i), sizeof bytes);
    if (i >= buffers.count() || bytes > buffers.bytes(i))
      note(MPI_ERR_TRUNCATE);
    else if (bytes > 0)
      unpack_to(buffers[i], data, bytes);
    data += bytes;
  }
}

bool SlotExchange::test() {
  while (posted_ < posts_.size() && slots_->is_posted(posted_, number_)) ++posted_;
  for (std::size_t row = 0; row < read_.size(); ++row)
    if (!read_[row] && read(row)) {
      read_[row] = true;
      --unread_;
    }
  return posted_ == posts_.size() && unread_ == 0;
}

int SlotExchange::wait() {
  return wait_patiently([&] { return test(); }, [&] { return forsaken(); }) ? code_ : MPI_ERR_OTHER;
}

bool SlotExchange::forsaken() const {
  for (std::size_t row = 0; row < read_.size(); ++row)
    if (!read_[row] && has_ended(slots_->in()[row].rank)) return true;
  const auto& out = slots_->out();
  return posted_ < out.size() && has_ended(out[posted_].rank);
}

}  // namespace dunnage::mpi
