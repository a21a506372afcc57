// The receiver's end of a channel (transport/gpu/channel.hpp) with the lines by which messages
// come, and what this rank knows of the receives that may get the channel's messages.
//
// At first this rank learns. It does not know which receives had begun before it heard of the
// channel. But a receive that began later and has got message n tells it: all receives that began
// before that receive have got messages before n. MPI does not let one overtake another. Messages
// that announce data tell their numbers. Of a named channel (offer_name.hpp) other messages come,
// too. Both ranks find their numbers by what they have counted (transport/gpu/channel.hpp).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "mpi/channels/resting.hpp"
#include "mpi/channels/start_call.hpp"
#include "mpi/channels/succession.hpp"
#include "mpi/lines/in_line.hpp"
#include "transport/gpu/channel.hpp"

namespace dunnage::mpi {

/// A receive that waits for a message of a channel.
struct ChannelReceive {
  std::uint64_t message = 0;
  InLine* line = nullptr;
  std::uint8_t number = 0;  // of the line
};

/// Not thread-safe.
class InChannel {
 public:
  /// `sender`: its rank in MPI_COMM_WORLD. `place`: where the channel is. `turn`: of the next
  /// receive on the communicator. Returns null if there is no such channel any more.
  static std::unique_ptr<InChannel> join(std::uint32_t sender, const transport::shm::Offered& place,
                                         std::uint64_t turn);
  InChannel(std::uint32_t sender, std::uint64_t serial, transport::shm::Reading place, transport::shm::Reading board,
            std::uint64_t turn);
  InChannel(const InChannel&) = delete;
  InChannel& operator=(const InChannel&) = delete;
  ~InChannel();

  /// A receive of this source and tag begins that gets a message of the MPI, and is not counted.
  /// Returns its number since this rank joined.
  std::int64_t begin_by_mpi();
  void end_by_mpi() { --by_mpi_; }
  /// While this rank learns: such a receive has got a message. Returns the number of the message,
  /// if that is known now.
  std::optional<std::uint64_t> message_of(std::int64_t receive);
  /// Something has made the order of receives unclear. Of a named channel, and while this rank
  /// learns: it will not find the numbers of messages.
  void cannot_learn();
  /// How many named channels, of all communicators, are being learnt.
  static unsigned learning() { return all_learning_; }
  bool hopeless() const { return hopeless_; }
  /// Whether the sender offers the channel by a name.
  bool is_named() const { return named_; }
  /// Whether a message that tells of a channel tells of this one.
  bool is(const transport::ChannelStamp& stamp) const { return stamp.serial == serial_; }
  /// A receive begins of which is known that the MPI is to do it. Returns whether a named channel
  /// has brought nothing since many such receives.
  bool is_idle() { return named_ && ++idle_ > most_idle; }
  /// This rank counts no more.
  void leave() { channel_.leave(); }
  /// A receive that began as number `turn` has got a message of the MPI. `message`: its number, if
  /// that is known.
  void got(std::uint64_t turn, std::optional<std::uint64_t> message);
  /// The channel is about to be used.
  void use(Succession::Last& last) { succession_.use(channel_.word(), last); }
  /// A receive is about to begin, and no other is under way that might get its message without
  /// naming source and tag. `side`: its buffer. Returns whether it waits for the channel; `wait` is
  /// kept until end_wait() or take_back().
  enum class Begun { uncounted, by_mpi, by_channel };
  Begun begin(ChannelReceive& wait, const Side& side);
  /// The last receive of those that were counted has not begun, because the MPI refused it.
  void not_begun() { channel_.not_begun(); }
  /// Whether the message is there, so that the line brings it.
  bool has_come(const ChannelReceive& wait);
  /// has_come() is about to be called.
  void prefetch(const ChannelReceive& wait) const {
    channel_.prefetch();
    wait.line->prefetch_taken();
  }
  void end_wait(const ChannelReceive& wait);
  /// The receive is cancelled. Returns false if its message has been sent.
  bool take_back(const ChannelReceive& wait);

  /// A receive that was counted begins when the call ends. A receive that this call begins before
  /// gets an earlier message than its number tells.
  PutOff put_off;
  /// Nonblocking receives that have got their messages by the channel.
  Resting resting;

 private:
  /// The line for a message to that buffer. Nothing if no line is free.
  std::optional<std::uint8_t> free_line(const Side& side) const;

  /// This rank knows the numbers of messages now, or will never know them.
  void learnt();

  /// The numbers of messages are found among the first receives, or never.
  static constexpr std::int64_t most_learnt_from = 64;
  /// A named channel is left after so many receives in a row that the MPI was to do, or after so
  /// many messages in a row that the MPI has brought.
  static constexpr unsigned most_idle = 16, most_by_mpi = 256;

  inline static unsigned all_learning_ = 0;
  const std::uint32_t sender_;
  const std::uint64_t serial_;  // of its place
  std::unique_ptr<transport::shm::Reading> place_, board_;
  transport::gpu::ChannelReceiver channel_;
  const bool named_ = channel_.is_named();
  Succession succession_;
  bool learning_ = true, hopeless_ = false;
  bool counted_as_learning_ = named_;
  unsigned by_mpi_in_a_row_ = 0, idle_ = 0;  // of a named channel
  std::uint64_t since_;                      // receives that began before this turn do not matter
  std::vector<std::uint64_t> got_;           // while it learns: the turns of receives that have got messages
  unsigned by_mpi_ = 0;                      // receives of this source and tag that are under way and not counted
  std::vector<ChannelReceive*> waits_;       // by message
  std::array<std::unique_ptr<InLine>, transport::gpu::Channel::depth> lines_;
};

}  // namespace dunnage::mpi
