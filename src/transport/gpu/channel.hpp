// A channel: a way for the messages of one sender, receiver, communicator and tag that needs no
// message of the MPI.
//
// Both ranks number these messages from 0 on. The sender counts what it sends. The receiver counts
// the receives that it has begun. Both counts stand in one word, and each rank changes its own by a
// compare-and-swap. So both ranks know for each message which came first. If the receive came
// first, the message goes by the channel: the sender rings the line that the receiver has chosen.
// If the send came first, the message goes by the MPI, which matches it to a receive that comes
// later.
//
// Most often the line tells already where the data are. Then the sender marks the line as `ready`
// before it counts the message, and the count rings. So the receiver looks at one word, and one
// cache line less moves between the two ranks.
//
// The receiver chooses a line whose last message went to the same buffer. Then the sender's buffer
// is most often as before, too, and need not be described again.
//
// Receives from any source or with any tag, and probes, are not counted when they begin. While one
// of them is under way the receiver counts no other either, so messages go by the MPI. The receiver
// counts such receives when they have ended. A count of receives that is too low is therefore
// always safe: then messages go by the MPI.
//
// A receive that is taken back gives its number to a later receive, which may choose another line.
// The counts are then as before, so the sender cannot see it there. So the receiver says that it
// takes something back before it does. From then on the sender rings lines, and from that number on
// the receiver looks at lines.
//
// The receiver of a named channel does not know which of its receives gets which message. The MPI
// matches messages and receives in the order in which they begin. So receive r gets message
// r - shift, and the shift does not change. Both ranks bound it:
//
// - When a receive has got a message, the sender had counted that message.
// - The sender sends a message synchronously. When that message has been matched, its receive had
//   begun.
//
// Where both bounds are one number, that number is the shift. Operations may begin in another order
// than they are counted, within one call that starts several. Such an operation bounds nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/function_ref.hpp"
#include "transport/gpu/channel_board.hpp"
#include "transport/gpu/line.hpp"

namespace dunnage::transport::gpu {

/// What stands in the sender's shared memory. Behind it come `depth` lines of one edge each. A
/// program that uses its buffers in one order again and again changes nothing here: what changes
/// stands on a board.
struct Channel {
  /// So many messages of one channel may be under way.
  static constexpr std::uint64_t depth = 32;
  /// The sender has `offered` it, and the receiver has `joined` it, and perhaps `left` it. Or the
  /// sender has `closed` it before.
  enum Use : std::uint32_t { offered, joined, closed, left };
  static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::max();

  BoardSeat seat;  // by the sender
  std::atomic<std::uint32_t> use{offered};
  std::atomic<std::uint32_t> ready{0};       // by the sender: a bit for each line
  std::atomic<std::uint32_t> taken_back{0};  // by the receiver: 1 once a receive may have been taken back
  std::uint32_t named = 0;                   // by the sender: 1 if it offers the channel by a name
  // By the receiver, before it counts a receive: the line of that message. A place is written again
  // only when `depth` later receives have begun, so the sender has read it.
  std::uint8_t lines[depth]{};
  // Until the receiver knows which receive gets which message:
  std::atomic<std::int64_t> begun{0};             // by the receiver: receives since it joined
  std::atomic<std::int64_t> most_shift{unknown};  // by the sender
};
inline constexpr std::int64_t channel_head = 128, channel_line = (line_size(1) + 63) / 64 * 64;
inline constexpr std::int64_t channel_size = channel_head + static_cast<std::int64_t>(Channel::depth) * channel_line;
static_assert(sizeof(Channel) <= channel_head);

/// The receiver joins a channel. Returns false if the sender has closed it.
bool join(Channel& channel);
/// A receiver that has joined counts no more.
inline void leave(Channel& channel) { channel.use.store(Channel::left, std::memory_order_relaxed); }
/// Where a line stands.
inline void* line_at(void* channel, std::size_t line) {
  return static_cast<char*>(channel) + channel_head + static_cast<std::int64_t>(line) * channel_line;
}

/// The sender's end. Not thread-safe.
class ChannelSender {
 public:
  /// Makes a channel in memory of channel_size bytes, without its lines. `counts`: its word on the
  /// board. Low half: messages sent; high half: receives begun.
  ChannelSender(void* memory, const BoardSeat& seat, std::atomic<std::uint64_t>& counts);

  struct Sent {
    std::uint64_t number;  // of the message
    bool awaited;          // the receive came first: the message goes by the channel
    bool rung;             // the count has rung
    std::uint8_t line;     // of an awaited message
  };
  /// Whether the receive of the next message has begun.
  bool awaited() const;
  /// What both ranks write for each message.
  const void* word() const { return &counts_; }
  /// Counts a message that is about to be sent. All messages must be counted before they are sent.
  /// If an error prevents that a counted message is sent, its receive does not end. If the message
  /// is awaited, `ready(number, line)` returns whether that line tells where its data are. `ready`
  /// may be called several times.
  Sent send(base::FunctionRef<bool(std::uint64_t, std::uint8_t)> ready);
  /// The receiver is about to find the channel by a name. Messages do not tell their numbers.
  void name() { channel_->named = 1; }
  bool is_named() const { return channel_->named != 0; }
  /// Whether no receiver has joined.
  bool is_offered() const { return channel_->use.load(std::memory_order_relaxed) == Channel::offered; }
  /// Whether the receiver counts its receives.
  bool receiver_counts() const;
  /// Whether the receiver has joined, and does not count its receives yet.
  bool receiver_learns() const;
  /// Whether the receiver uses the channel no more.
  bool is_left() const { return channel_->use.load(std::memory_order_relaxed) == Channel::left; }
  /// A message has been matched, so its receive has begun.
  void matched(std::uint64_t message);
  /// Closes the channel if no receiver has joined. Returns whether one has.
  bool close();

 private:
  void mark(std::uint8_t line, bool ready);
  Channel* channel_;
  std::atomic<std::uint64_t>& counts_;
  std::uint64_t sent_ = 0;
};

/// The receiver's end. Not thread-safe.
class ChannelReceiver {
 public:
  ChannelReceiver(void* memory, std::atomic<std::uint64_t>& counts)
      : channel_(static_cast<Channel*>(memory)), counts_(counts) {}

  /// A receive is about to begin that is not counted. Returns its number since this rank joined.
  std::int64_t begin_uncounted();
  /// Such a receive has got a message. Returns the number of the message, if that is known now.
  std::optional<std::uint64_t> message_of(std::int64_t receive);
  /// Whether messages do not tell their numbers.
  bool is_named() const { return channel_->named != 0; }
  /// This rank counts no more.
  void leave() { gpu::leave(*channel_); }
  /// From now on receives are counted: so many have been matched.
  void begin(std::uint64_t matched);
  struct Begun {
    std::uint64_t number;  // of the message that the receive gets
    bool by_channel;       // the receive came first
  };
  /// Counts a receive that is about to begin, and whose message may come by `line`. No receive may
  /// be under way that could get its message and is not counted.
  Begun receive(std::uint8_t line = 0);
  /// What is known of the message of a receive that waits for it on `line`. `ask_line`: it has been
  /// counted, and its line tells whether it is there. When it has been counted, line(number) may be
  /// the line of a later message.
  enum class News { none, rung, ask_line };
  News news(std::uint64_t number, std::uint8_t line) const;
  /// news() is about to be called.
  void prefetch() const { __builtin_prefetch(&counts_, 1); }
  /// The line of a receive that has been counted, and whose message has not been sent.
  std::uint8_t line(std::uint64_t number) const { return channel_->lines[number % Channel::depth]; }
  /// Counts a receive that has got a message of the MPI.
  void received_by_mpi();
  /// The last receive that was counted, which does not go by the channel, has not begun.
  void not_begun() { count(counted_ - 1); }
  /// Takes back the receive of that number, if its message has not been sent. Returns whether it
  /// did. Then later receives get the numbers before theirs.
  bool take_back(std::uint64_t number);
  /// How many receives have been counted.
  std::uint64_t counted() const { return counted_; }
  /// What both ranks write for each message.
  const void* word() const { return &counts_; }

 private:
  void count(std::uint64_t counted);
  Channel* channel_;
  std::atomic<std::uint64_t>& counts_;
  std::uint64_t counted_ = 0;
  std::int64_t least_shift_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t by_lines_from_ = ~std::uint64_t{0};  // messages from this number on ring lines
};

}  // namespace dunnage::transport::gpu
