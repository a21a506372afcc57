#include "mpi/neighbours/out_ring.hpp"

#include <algorithm>
#include <cstring>

#include "mpi/neighbours/ring_piece.hpp"
#include "mpi/process/failure.hpp"
#include "plan/edge_way.hpp"

namespace dunnage::mpi {

int OutRing::take(std::span<const EdgeData> sends) {
  bool changed = true;
  code_ = guarded([&] { changed = buffers_.take(sends, edges_); });
  if (!changed && code_ == MPI_SUCCESS) return code_;
  sizes_.assign(edges_.size(), 0);
  for (std::size_t i = 0; i < buffers_.count(); ++i) {
    const auto bytes = buffers_.bytes(i);
    const bool contiguous = bytes > 0 && buffers_[i].contiguous_host();
    sizes_[i] = plan::edge_way(contiguous, bytes) == plan::EdgeWay::message ? by_message(bytes) : bytes;
  }
  ring_.resize(sizes_);
  return code_;
}

void OutRing::begin(std::uint64_t exchange, RingMessages& messages) {
  exchange_ = exchange;
  written_ = announced_ = false;
  edge_ = 0;
  done_ = 0;
  if (code_ != MPI_SUCCESS) ring_.fail(exchange_);
  for (std::size_t i = 0; i < sizes_.size() && code_ == MPI_SUCCESS; ++i)
    if (sizes_[i] < 0) code_ = messages.send({peer_, receiver_, i}, buffers_[i]);
}

/// What can be read at once is published first, so that one look at the ring shows all.
void OutRing::publish() {
  ring_.bytes().publish();
  if (!std::exchange(announced_, true)) ring_.announce(exchange_);
}

bool OutRing::write(std::int64_t most) {
  if (written_) return true;
  auto& bytes = ring_.bytes();
  std::int64_t hidden = 0;  // bytes that are written and not published
  for (; edge_ < sizes_.size(); ++edge_, done_ = 0) {
    while (done_ < sizes_[edge_]) {
      const auto n = std::min({sizes_[edge_] - done_, bytes.room(), ring_piece - hidden, most});
      if (n > 0) {
        pack(bytes.place(), done_, done_ + n);
        bytes.wrote(n);
        done_ += n;
        hidden += n;
        most -= n;
        if (hidden < ring_piece) continue;
      }
      publish();
      hidden = 0;
      if (n == 0) return false;
    }
  }
  publish();
  return written_ = true;
}

void OutRing::pack(char* to, std::int64_t begin, std::int64_t end) {
  if (code_ != MPI_SUCCESS) return;
  const auto& buffer = buffers_[edge_];
  code_ = guarded([&] {
    if (!buffer.packer()) return buffer.pack(to, begin, end);
    // These pack all of the data each time.
    if (begin == 0) {
      packed_.resize(static_cast<std::size_t>(buffer.size()));
      buffer.pack(packed_.data(), 0, buffer.size());
    }
    std::memcpy(to, packed_.data() + begin, static_cast<std::size_t>(end - begin));
  });
  if (code_ != MPI_SUCCESS) ring_.fail(exchange_);
}

}  // namespace dunnage::mpi
