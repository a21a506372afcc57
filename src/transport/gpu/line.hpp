// A line from one rank to another: by it the sender says, exchange by exchange, that its data in
// device memory are ready. It takes the place of a message for each exchange.
//
// Exchanges are numbered from 1 on, by both ranks alike. Each is announced in one of two manners.
// Exchanges before `direct_from` come as messages; the line says nothing about them. For the others
// the sender makes `rung` the number of the exchange, or moves `direct_from` beyond it: then this
// exchange comes as messages too. So a sender that uses messages need not wait for its receiver.
//
// The sender moves `direct_from` to the next exchange before it sends the messages of the one
// before. So the receiver, which completes them first, knows in time where to look.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/gpu/remote.hpp"

namespace dunnage::transport::gpu {

/// What stands in the sender's shared memory. Behind it come the places of the data, one GpuSource
/// for each edge.
struct Line {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  /// A packed copy, which the sender has published. One GpuSource for each edge stands there. If
  /// the copy is in host memory, the data stand behind them.
  struct Copy {
    std::uint64_t begin = 0, serial = 0;
    std::int64_t size = 0;
    std::uint64_t on_device = 0;
  };
  // By the sender:
  std::atomic<std::uint64_t> direct_from{never}, rung{0};
  std::uint64_t described = 0;  // the exchange for which the places were written last
  Copy copy{};                  // before it is taken, or where the data of `put` stand
  std::uint64_t put = 0;        // the exchange whose packed host data stand behind the line, or in `copy`
  // By both: 2k if the receiver reads the data of exchange k, 2k + 1 if the sender has made a copy.
  alignas(64) std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> done{0};  // by the receiver: it needs nothing more of this exchange
};

/// The words of a line that the receiver writes, where they stand elsewhere.
struct LineEnd {
  std::atomic<std::uint64_t>* taken = nullptr;
  std::atomic<std::uint64_t>* done = nullptr;
};

constexpr std::int64_t line_size(std::size_t edges) {
  return static_cast<std::int64_t>(sizeof(Line) + edges * sizeof(GpuSource));
}
/// More packed bytes are not put(): the sides would not work at a time.
inline constexpr std::int64_t most_put = 256 << 10;
/// How many bytes of packed data have room in a line of one edge, behind their size.
inline constexpr std::int64_t line_room = sizeof(GpuSource) - sizeof(std::int64_t);

/// The sender's end. Not thread-safe. The exchange is the one that is under way.
class LineSender {
 public:
  /// Makes a line in memory of line_size(edges) bytes. `end`: of a line whose last words stand
  /// elsewhere.
  LineSender(void* memory, std::size_t edges, LineEnd end = {});

  /// Whether the receiver looks at the line for this exchange.
  bool watched(std::uint64_t exchange) const { return line_->direct_from.load(std::memory_order_relaxed) <= exchange; }
  /// Whether the receiver needs nothing more of what was announced before.
  bool free() const { return end_.done->load(std::memory_order_acquire) >= rung_; }
  /// This exchange goes as messages. `next`: so that the receiver looks at the line for the next.
  void use_messages(std::uint64_t exchange, bool next) {
    line_->direct_from.store(next ? exchange + 1 : Line::never, std::memory_order_release);
  }
  /// Says where the data are from now on. The line must be free().
  void describe(std::uint64_t exchange, std::span<const GpuSource> sources);
  /// The data are ready. The line must be free() and watched().
  void ring(std::uint64_t exchange) {
    rung_ = exchange;
    line_->rung.store(exchange, std::memory_order_release);
  }
  /// In a line of one edge that the receiver has ended: room for packed data. put() tells of them.
  char* room() { return reinterpret_cast<char*>(line_ + 1) + sizeof(std::int64_t); }
  /// So many packed bytes are in room(), or in the memory of this process that `copy` tells. What
  /// describe() has told is gone.
  void put(std::uint64_t exchange, std::int64_t bytes, const Line::Copy* copy);
  /// The receiver has been told by other means.
  void rung(std::uint64_t exchange) { rung_ = exchange; }
  /// Whether the receiver needs the program's memory no more.
  bool read(std::uint64_t exchange) const { return end_.done->load(std::memory_order_acquire) >= exchange; }
  /// Whether the receiver has begun to read it.
  bool taken(std::uint64_t exchange) const { return end_.taken->load(std::memory_order_relaxed) >= 2 * exchange; }
  /// The processor is to bring what the receiver has written.
  void prefetch() const { __builtin_prefetch(end_.done); }
  /// Offers a copy in place of the program's memory. Returns false if the receiver reads already.
  bool replace(std::uint64_t exchange, const Line::Copy& copy);

 private:
  Line* line_;
  LineEnd end_;
  std::size_t edges_;
  std::uint64_t rung_ = 0;  // the exchange that was announced last
};

/// The receiver's end. Not thread-safe.
class LineReceiver {
 public:
  LineReceiver(void* memory, std::size_t edges, LineEnd end = {});

  enum class News { none, messages, rung };
  News news(std::uint64_t exchange) const;
  /// Where the data are, and the exchange for which that was written. After it has rung.
  std::span<const GpuSource> sources() const { return {reinterpret_cast<const GpuSource*>(line_ + 1), edges_}; }
  std::uint64_t described() const { return line_->described; }
  /// After it has rung: takes the data where they are. If the sender has made a copy, returns that.
  std::optional<Line::Copy> take(std::uint64_t exchange);
  /// Whether the data of an exchange that has rung have been put().
  bool has_put(std::uint64_t exchange) const { return line_->put == exchange; }
  /// What has been put: how many bytes, and where they are if they are in the line.
  struct Put {
    std::int64_t bytes;
    const char* here;
    Line::Copy copy;
  };
  Put put() const;
  /// The processor is to bring what the sender has written.
  void prefetch() const { __builtin_prefetch(&line_->rung); }
  /// The processor is to bring what take() changes.
  void prefetch_taken() const { __builtin_prefetch(end_.taken, 1); }
  /// Nothing more of this exchange is needed, and of those before it.
  void done(std::uint64_t exchange) { end_.done->store(exchange, std::memory_order_release); }

 private:
  Line* line_;
  LineEnd end_;
  std::size_t edges_;
};

}  // namespace dunnage::transport::gpu
