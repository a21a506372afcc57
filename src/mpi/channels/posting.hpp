// A receive as the channels of its communicator see it, from its beginning to its end.
#pragma once

#include <memory>
#include <optional>

#include "base/recycled.hpp"
#include "mpi/channels/streams.hpp"
#include "mpi/message/request.hpp"

namespace dunnage::mpi {

/// Of a receive that the MPI does, the Request tells it the end. Not thread-safe.
class Posting : public Ending, public base::Recycled<Posting> {
 public:
  /// `source`, `tag`: as the program gives them.
  Posting(std::shared_ptr<Streams> streams, int source, int tag);
  Posting(const Posting&) = delete;
  Posting& operator=(const Posting&) = delete;
  /// If nobody has told the end of the receive, its channel is not used any more, because the
  /// receive may be under way.
  ~Posting() override;
  /// For a receive on that communicator. Null if it does not matter to channels.
  static std::unique_ptr<Posting> on(MPI_Comm comm, int source, int tag);

  /// The sender may offer a channel for this receive into host memory. `comm`: the communicator.
  void look_for_channel(MPI_Comm comm) {
    if (source_ >= 0 && tag_ >= 0 && host_channels_possible()) streams_->look_for(comm, source_, tag_);
  }
  /// The MPI is to do all receives of a persistent request. Returns whether this posting is of no
  /// use any more.
  bool leave_channel() {
    const bool wildcard = source_ < 0 || tag_ < 0;  // it may get messages of any channel
    if (wildcard || !streams_->leave_if_idle(source_, tag_)) return false;
    streams_->bar_from(source_, tag_);
    return true;
  }
  /// The receive is about to begin. `side`: its buffer, if it can wait for a channel; else null.
  /// `room`: how many bytes have room there. Returns whether the receive waits for a channel. If
  /// not, the MPI is to do it.
  bool begin(const Side* side, std::int64_t room = 0);
  /// Of a receive that waits for a channel.
  const ChannelReceive& wait() const { return wait_; }
  bool has_come() const { return channel_->has_come(wait_); }
  void prefetch() const { channel_->prefetch(wait_); }
  void end_wait();
  /// Of a receive that the MPI does, and that has begun: whether its message is surely on its way.
  bool message_sent() const { return channel_ && kind_ == Kind::counted; }
  bool take_back();
  /// The MPI is about to cancel the receive.
  void may_be_cancelled() {
    if (channel_) channel_->cannot_learn();
  }
  /// The receive, which the MPI does, begins when the call ends, or now.
  void begins_later() {
    if (channel_) channel_->put_off.note();
  }
  void begins_now() {
    if (channel_ && channel_->put_off) number_.reset();
  }
  /// A receive begins to rest that has got its message by a channel. It must not keep the channels
  /// meanwhile: they keep it.
  std::shared_ptr<Streams> rest() { return std::move(streams_); }
  /// Where it rests. Null if that channel is gone.
  InChannel* channel_in(const Streams& streams) const { return streams.from(source_, tag_); }
  /// A receive that has rested serves again.
  void serve_again(std::shared_ptr<Streams> streams) { streams_ = std::move(streams); }

  /// The MPI has refused the receive.
  void not_begun();
  /// A call of the MPI has failed, and has received a message, which was too long, or none. The
  /// channel is not used any more.
  void lost();
  /// The message that has come tells of a channel.
  void told(const transport::ChannelStamp& stamp) { stamp_ = stamp; }
  /// The status will tell nothing, and the receive cannot be cancelled.
  void expect_no_status() { untold_ = true; }
  /// The MPI has ended the receive. `status` is null if nobody knows what it has received. Then its
  /// channel is not used any more, unless the receive was counted.
  void ended(const MPI_Status* status) override;

 private:
  /// `unknown`: there was no channel when the receive began. `counted`: the channel knows all of
  /// it.
  enum class Kind { unknown, counted, uncounted, wildcard, waits };
  std::shared_ptr<Streams> streams_;
  const int source_, tag_;
  Kind kind_ = Kind::counted;
  bool untold_ = false;
  std::uint64_t turn_ = 0;
  std::optional<std::int64_t> number_;  // of an uncounted receive, since this rank joined the channel
  InChannel* channel_ = nullptr;        // of source and tag, when the receive began
  ChannelReceive wait_;
  transport::ChannelStamp stamp_{};
};

/// A probe has taken a message out of the order in which receives get messages.
void taken_by_probe(MPI_Comm comm, const MPI_Status& status);

}  // namespace dunnage::mpi
