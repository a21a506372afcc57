// Shared memory in which one process writes a stream of bytes and another reads it.
//
// Both count the bytes of the stream. A byte stands at its number modulo the ring's size. When the
// reader has read all, the writer goes on at the ring's beginning, so that short data use the same
// few cache lines again and again. The numbers that the writer skips are no bytes of the stream.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dunnage::transport::shm {

/// The words of a ring: a cache line that one side writes and the other reads, each way. The words
/// that are left in them are for the ring's user. All words are 0 at first.
struct ByteRing {
  // By the writer:
  alignas(64) std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> restarted{0};  // the reader has read all before this number
  std::atomic<std::uint64_t> by_writer[6]{};
  // By the reader:
  alignas(64) std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint64_t> by_reader[7]{};
};
static_assert(sizeof(ByteRing) == 128);

/// The writer's end. Not thread-safe.
class ByteRingWriter {
 public:
  /// `bytes`: where `size` bytes of the ring are.
  ByteRingWriter(ByteRing* ring, char* bytes, std::int64_t size)
      : ring_(ring), bytes_(bytes), size_(static_cast<Count>(size)) {}

  /// Bytes that may be written at place() now, in one piece.
  std::int64_t room() {
    const auto read = std::max(ring_->read.load(std::memory_order_acquire), begin_);
    if (read == at_) restart();
    return static_cast<std::int64_t>(std::min(size_ - (at_ - std::max(read, begin_)), size_ - at_ % size_));
  }
  char* place() const { return bytes_ + at_ % size_; }
  void wrote(std::int64_t bytes) { at_ += static_cast<Count>(bytes); }
  /// Lets the reader see what has been written.
  void publish() { ring_->written.store(at_, std::memory_order_release); }

 private:
  using Count = std::uint64_t;
  void restart() {
    if (at_ % size_ == 0) return;
    begin_ = at_ = (at_ / size_ + 1) * size_;
    ring_->restarted.store(begin_, std::memory_order_relaxed);
  }

  ByteRing* ring_;
  char* bytes_;
  Count size_, at_ = 0;
  Count begin_ = 0;  // as ByteRing::restarted
};

/// The reader's end. Not thread-safe.
class ByteRingReader {
 public:
  /// `bytes`, `size`: the writer's.
  ByteRingReader(ByteRing* ring, const char* bytes, std::int64_t size)
      : ring_(ring), bytes_(bytes), size_(static_cast<Count>(size)) {}

  /// Bytes that stand at place() now, in one piece.
  std::int64_t there() {
    const auto written = ring_->written.load(std::memory_order_acquire);
    if (written == at_) return 0;
    // The writer cannot restart between these two loads: there is something to read.
    at_ = std::max(at_, ring_->restarted.load(std::memory_order_relaxed));
    return static_cast<std::int64_t>(std::min(written - at_, size_ - at_ % size_));
  }
  const char* place() const { return bytes_ + at_ % size_; }
  /// These bytes are not needed any more. The writer hears of it by release().
  void took(std::int64_t bytes) { at_ += static_cast<Count>(bytes); }
  void release() { ring_->read.store(at_, std::memory_order_release); }

 private:
  using Count = std::uint64_t;
  ByteRing* ring_;
  const char* bytes_;
  Count size_, at_ = 0;
};

}  // namespace dunnage::transport::shm
