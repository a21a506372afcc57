#include "mpi/neighbours/in_ring.hpp"

#include <algorithm>
#include <cstring>

#include "memory/landing.hpp"
#include "mpi/neighbours/ring_piece.hpp"
#include "mpi/process/failure.hpp"

namespace dunnage::mpi {

int InRing::take(std::span<const EdgeData> receives) {
  return taken_ = guarded([&] { buffers_.take(receives, edges_); });
}

void InRing::begin(std::uint64_t exchange, RingMessages& messages) {
  exchange_ = exchange;
  announced_ = ended_ = false;
  edge_ = 0;
  done_ = 0;
  code_ = taken_;
  ring_.begin(exchange);
  if (known_) begin_messages(messages);
}

void InRing::begin_messages(RingMessages& messages) {
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] >= 0) continue;
    const auto bytes = by_message(sizes_[i]);
    const bool fits = taken_ == MPI_SUCCESS && i < buffers_.count() && bytes <= buffers_.bytes(i);
    if (!fits) note(MPI_ERR_TRUNCATE);
    note(messages.receive({peer_, sender_, i}, fits ? buffers_[i] : memory::Buffer(), bytes));
  }
}

bool InRing::read(RingMessages& messages) {
  if (ended_) return true;
  if (!announced_) {
    if (!ring_.announced(exchange_)) return false;
    announced_ = true;
    if (!known_) {
      sizes_ = ring_.sizes(exchange_);
      begin_messages(messages);
    }
  }
  auto& bytes = ring_.bytes();
  std::int64_t hidden = 0;  // bytes that are read and not released
  for (; edge_ < sizes_.size(); ++edge_, done_ = 0) {
    if (sizes_[edge_] <= 0) continue;
    if (done_ == 0) begin_edge();
    while (done_ < sizes_[edge_]) {
      const auto n = std::min({sizes_[edge_] - done_, bytes.there(), ring_piece - hidden});
      if (n > 0) {
        place(bytes.place(), n);
        bytes.took(n);
        done_ += n;
        hidden += n;
        if (hidden < ring_piece) continue;
      }
      if (hidden > 0) bytes.release();
      hidden = 0;
      if (n == 0) return false;
    }
    end_edge();
  }
  bytes.release();
  if (ring_.failed(exchange_)) note(MPI_ERR_OTHER);
  return ended_ = true;
}

void InRing::begin_edge() {
  dropped_ = taken_ != MPI_SUCCESS || edge_ >= buffers_.count() || sizes_[edge_] > buffers_.bytes(edge_);
  if (dropped_) return note(MPI_ERR_TRUNCATE);
  if (buffers_[edge_].packer()) note(guarded([&] { packed_.resize(static_cast<std::size_t>(sizes_[edge_])); }));
}

void InRing::place(const char* from, std::int64_t bytes) {
  if (dropped_) return;
  const auto& buffer = buffers_[edge_];
  if (!buffer.packer())
    note(guarded([&] { buffer.unpack(from, done_, done_ + bytes); }));
  else if (packed_.size() == static_cast<std::size_t>(sizes_[edge_]))
    std::memcpy(packed_.data() + done_, from, static_cast<std::size_t>(bytes));
}

void InRing::end_edge() {
  if (dropped_ || !buffers_[edge_].packer() || packed_.size() != static_cast<std::size_t>(sizes_[edge_])) return;
  const memory::Landing landing{buffers_[edge_]};
  note(guarded([&] {
    landing.restart();
    landing.place(packed_.data(), 0, sizes_[edge_]);
    landing.finish();
  }));
}

}  // namespace dunnage::mpi
