// The sender's end of a channel (transport/gpu/channel.hpp) with the lines by which messages go.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "mpi/channels/out_board.hpp"
#include "mpi/channels/resting.hpp"
#include "mpi/channels/start_call.hpp"
#include "mpi/channels/succession.hpp"
#include "mpi/lines/out_line.hpp"
#include "transport/gpu/channel.hpp"

namespace dunnage::mpi {

/// Not thread-safe.
class OutChannel {
 public:
  /// `receiver`: its rank in MPI_COMM_WORLD. Returns null if there is no memory.
  static std::unique_ptr<OutChannel> make(std::uint32_t receiver);
  OutChannel(std::uint32_t receiver, const OutLine::Published& place, OutBoard::Seat seat);
  OutChannel(const OutChannel&) = delete;
  OutChannel& operator=(const OutChannel&) = delete;
  ~OutChannel();
  /// How many take shared memory: those that are there, and those that no receiver has joined.
  static unsigned alive() { return alive_; }

  /// Counts a message that is about to be sent. If it is awaited, `take` has a line take its
  /// buffer, and returns an MPI error code. If the receiver's GPU can read the buffer there, the
  /// count rings.
  transport::gpu::ChannelSender::Sent send(base::FunctionRef<int(OutLine&)> take);
  /// The channel is about to be used.
  void use(Succession::Last& last) { succession_.use(channel_.word(), last); }
  /// Whether the receive of the next message has not begun, so that the MPI would carry that
  /// message, and a short wait for the receive may help.
  bool early() const { return !channel_.awaited() && left_out_ == 0 && !to_itself_; }
  /// Waits for the receive of the next message, but only as long as a message of the MPI takes. If
  /// the receiver is late again and again, this rank waits ever more rarely. A rank does not wait
  /// for itself.
  void wait_a_little();
  /// Counts a message whose line is rung later, if it is awaited.
  transport::gpu::ChannelSender::Sent send();
  /// The line by which an awaited message goes, as exchange number exchange_of(message).
  OutLine& line(const transport::gpu::ChannelSender::Sent& message) { return *lines_[message.line]; }
  /// Whether a synchronous message would help the receiver to find out which receive gets which
  /// message.
  bool asks() const { return is_named() && !asked_ && !put_off && channel_.receiver_learns(); }
  /// Whether this rank waits for the answer for some microseconds. The first times only.
  bool waits_for_answer() { return waits_for_answers_ > 0 && waits_for_answers_-- > 0; }
  /// The message of that number is such a message, and under way; or no such message is.
  void asked(std::optional<std::uint64_t> message) { asked_ = message; }
  bool is_asked(std::uint64_t message) const { return asked_ == message; }
  void matched(std::uint64_t message) { channel_.matched(message); }
  /// The channel is about to be offered by a name.
  void name() { channel_.name(); }
  bool is_named() const { return channel_.is_named(); }
  /// A message goes by the MPI. Returns whether the channel is of no use: the receiver counts no
  /// more, or has not joined for many messages, and will not join any more.
  bool is_useless();
  /// Nobody has been told of the channel, so nobody will join it.
  void withdraw() { withdrawn_ = true; }
  /// Its rank in MPI_COMM_WORLD.
  std::uint32_t receiver() const { return receiver_; }
  /// Where the receiver finds it.
  transport::shm::Offered place() const { return {place_.begin, place_.serial}; }
  /// What a message by the MPI tells of the channel.
  transport::ChannelStamp stamp(std::uint64_t message) const;

  /// A message that was counted is sent when the call ends. So a message that this call sends
  /// before must not be a question: it overtakes the other one.
  PutOff put_off;
  /// Nonblocking sends whose receiver has their messages.
  Resting resting;

 private:
  inline static unsigned alive_ = 0;
  const std::uint32_t receiver_;
  const bool to_itself_;
  const OutLine::Published place_;
  const OutBoard::Seat seat_;
  transport::gpu::ChannelSender channel_;
  Succession succession_;
  static constexpr unsigned most_unjoined = 64;
  bool withdrawn_ = false;
  std::optional<std::uint64_t> asked_;
  unsigned waits_for_answers_ = 8;
  unsigned unjoined_ = 0;  // messages that were sent before the receiver joined
  unsigned left_out_ = 0;  // so many messages are sent without a wait
  unsigned in_vain_ = 0;   // waits that ended without the receive; receives in time make up for them
  std::array<std::unique_ptr<OutLine>, transport::gpu::Channel::depth> lines_;
};

/// Lines number exchanges from 1 on.
constexpr std::uint64_t exchange_of(std::uint64_t message) { return message + 1; }
constexpr std::uint64_t message_of(std::uint64_t exchange) { return exchange - 1; }

}  // namespace dunnage::mpi
