#include "mpi/neighbours/slot_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory/landing.hpp"
#include "mpi/neighbours/own_copies.hpp"
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
      read_(slots_->in().size()),
      unread_(slots_->in().size()) {}

void SlotExchange::begin(const Edges& edges) {
  if (process->reporting) process->count_of(hook_).rings.fetch_add(1, std::memory_order_relaxed);
  const auto& to = slots_->out();
  const auto& from = slots_->in();
  std::vector<PostedExchange> posts(to.size());
  std::int64_t bytes = 0;
  for (std::size_t row = 0; row < to.size(); ++row) {
    auto& buffers = buffers_->out[row];
    const int code = guarded([&] { buffers.take(edges.sends, to[row].edges); });
    note(code);
    posts[row].size = sizes_size(buffers.count()) + buffers.bytes();
    if (code == MPI_SUCCESS) posts[row].data = posts[row].size > PostedExchange::room ? Data::published : Data::here;
    bytes += buffers.bytes();
  }
  const int own = guarded([&] {
    buffers_->own_out.take(edges.sends, slots_->own_targets());
    buffers_->own_in.take(edges.receives, slots_->own_sources());
  });
  note(own);
  const Accelerated counted(hook_, bytes + buffers_->own_out.bytes());
  pack(posts);
  for (std::size_t row = 0; row < to.size(); ++row) note(slots_->post(row, number_, posts[row]));
  for (std::size_t row = 0; row < from.size(); ++row)
    note(guarded([&] { buffers_->in[row].take(edges.receives, from[row].edges); }));
  if (own == MPI_SUCCESS) note(copy_own(buffers_->own_out, buffers_->own_in));
}

void SlotExchange::pack(std::span<PostedExchange> posts) {
  const auto pack_row = [&](std::size_t row, char* to) {
    const int code = guarded([&] { pack_edges(buffers_->out[row], to); });
    if (code != MPI_SUCCESS) posts[row].data = Data::none;
    note(code);
  };
  std::int64_t size = 0;
  std::uint32_t readers = 0;
  for (std::size_t row = 0; row < posts.size(); ++row) {
    auto& post = posts[row];
    if (post.data == Data::here) pack_row(row, post.here);
    if (post.data != Data::published) continue;
    post.place = size;
    size += transport::shm::whole_lines(post.size);
    ++readers;
  }
  if (readers == 0) return;
  auto& publications = process->world->publications;
  transport::shm::Publications::Published room;  // without data: there is no memory
  note(guarded([&] {
    const auto published = publications.publish(size, readers);
    if (!published) throw std::bad_alloc();
    room = *published;
  }));
  for (std::size_t row = 0; row < posts.size(); ++row) {
    auto& post = posts[row];
    if (post.data != Data::published) continue;
    post.size = size;
    post.begin = room.begin;
    post.serial = room.serial;
    if (room.data) pack_row(row, room.data + post.place);
    if (!room.data) post.data = Data::none;
    if (post.data == Data::published) --readers;
  }
  if (room.data) publications.end(room, readers);
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
  for (std::size_t row = 0; row < read_.size(); ++row)
    if (!read_[row] && read(row)) {
      read_[row] = true;
      --unread_;
    }
  return unread_ == 0;
}

int SlotExchange::wait() {
  return wait_patiently([&] { return test(); }, [&] { return forsaken(); }) ? code_ : MPI_ERR_OTHER;
}

bool SlotExchange::forsaken() const {
  for (std::size_t row = 0; row < read_.size(); ++row)
    if (!read_[row] && has_ended(slots_->in()[row].rank)) return true;
  return false;
}

}  // namespace dunnage::mpi
