// A ring for the data of exchange after exchange from one rank to another. Several edges of a
// topology may lead from the one to the other; their data follow each other in the stream.
//
// Exchanges are numbered from 1 on, by both ranks alike. The writer announces each of them with the
// sizes of its data. It begins no exchange before the reader has begun the one before. So the
// reader may still be in exchange k when the writer is in exchange k + 1, and never two behind. The
// words of an exchange stand in one of two places in turn.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <span>

#include "transport/shm/byte_ring.hpp"
#include "transport/shm/whole_lines.hpp"

namespace dunnage::transport::shm {

/// What stands in shared memory, aligned to 64 bytes. Behind it come two lists of sizes, and the
/// bytes of the ring.
struct EdgeRing {
  ByteRing ring;

  // By the writer:
  auto& announced() { return ring.by_writer[0]; }
  /// Which sizes: how often they have changed.
  auto& version(std::uint64_t exchange) { return ring.by_writer[1 + exchange % 2]; }
  /// The exchange, if its data could not be written.
  auto& failed(std::uint64_t exchange) { return ring.by_writer[3 + exchange % 2]; }
  // By the reader:
  auto& begun() { return ring.by_reader[0]; }

  static constexpr std::int64_t sizes_size(std::size_t edges) {
    return whole_lines(2 * static_cast<std::int64_t>(edges * sizeof(std::int64_t)));
  }
  std::int64_t* sizes(std::uint64_t version, std::size_t edges) {
    return reinterpret_cast<std::int64_t*>(this + 1) + version % 2 * edges;
  }
  char* bytes(std::size_t edges) { return reinterpret_cast<char*>(this + 1) + sizes_size(edges); }
};

/// Bytes of memory for a ring with room for `size` bytes of data, which is a multiple of 64.
constexpr std::int64_t edge_ring_size(std::size_t edges, std::int64_t size) {
  return static_cast<std::int64_t>(sizeof(EdgeRing)) + EdgeRing::sizes_size(edges) + size;
}

/// The writer's end. Not thread-safe.
class EdgeRingWriter {
 public:
  /// Makes a ring in edge_ring_size() bytes of memory.
  EdgeRingWriter(void* memory, std::size_t edges, std::int64_t size)
      : ring_(new (memory) EdgeRing), edges_(edges), bytes_(&ring_->ring, ring_->bytes(edges), size) {}

  /// The sizes of the next exchange and of those after it. The reader must have begun the exchange
  /// before.
  void resize(std::span<const std::int64_t> sizes) {
    std::copy(sizes.begin(), sizes.end(), ring_->sizes(++version_, edges_));
  }
  /// The data come next. At least the first of them may have been published.
  void announce(std::uint64_t exchange) {
    ring_->version(exchange).store(version_, std::memory_order_relaxed);
    ring_->announced().store(exchange, std::memory_order_release);
  }
  /// What stands there for this exchange is not what was to be written. To be told before the last
  /// of it is published.
  void fail(std::uint64_t exchange) { ring_->failed(exchange).store(exchange, std::memory_order_relaxed); }
  /// Whether the reader has begun an exchange, or a later one.
  bool begun(std::uint64_t exchange) const { return ring_->begun().load(std::memory_order_acquire) >= exchange; }
  ByteRingWriter& bytes() { return bytes_; }

 private:
  EdgeRing* ring_;
  std::size_t edges_;
  ByteRingWriter bytes_;
  std::uint64_t version_ = 0;
};

/// The reader's end. Not thread-safe.
class EdgeRingReader {
 public:
  EdgeRingReader(void* memory, std::size_t edges, std::int64_t size)
      : ring_(static_cast<EdgeRing*>(memory)), edges_(edges), bytes_(&ring_->ring, ring_->bytes(edges), size) {}

  void begin(std::uint64_t exchange) { ring_->begun().store(exchange, std::memory_order_release); }
  bool announced(std::uint64_t exchange) const {
    return ring_->announced().load(std::memory_order_acquire) >= exchange;
  }
  /// Of an exchange that is announced. They stay until the next exchange begins.
  std::span<const std::int64_t> sizes(std::uint64_t exchange) const {
    return {ring_->sizes(ring_->version(exchange).load(std::memory_order_relaxed), edges_), edges_};
  }
  /// Those that were there before the first exchange.
  std::span<const std::int64_t> first_sizes() const { return {ring_->sizes(1, edges_), edges_}; }
  /// Whether the data are not what was to be written. To be asked after all have been read.
  bool failed(std::uint64_t exchange) const {
    return ring_->failed(exchange).load(std::memory_order_relaxed) == exchange;
  }
  ByteRingReader& bytes() { return bytes_; }

 private:
  EdgeRing* ring_;
  std::size_t edges_;
  ByteRingReader bytes_;
};

}  // namespace dunnage::transport::shm
