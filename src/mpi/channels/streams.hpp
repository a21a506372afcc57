// The channels of one communicator, by peer and tag.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "device/place.hpp"
#include "mpi/channels/in_channel.hpp"
#include "mpi/channels/out_channel.hpp"
#include "mpi/process/process.hpp"

namespace dunnage::mpi {

/// Whether there may be channels in this process: its calls come one at a time.
bool channels_allowed();
/// Whether there may be channels for data in device memory now: this process uses a GPU.
bool channels_possible();
/// Whether there may be channels for data in host memory now.
bool host_channels_possible();
/// Whether such channels are made without a measurement.
inline bool channels_unmeasured() { return process->settings.channels == base::Channels::always; }
/// A persistent request was made that Dunnage will not see again. There will be no channel for the
/// messages that it may send or receive.
void no_channel_to(MPI_Comm comm, int dest, int tag);
void no_channel_from(MPI_Comm comm, int source, int tag);

/// Not thread-safe: there are channels only in programs that make one call at a time.
class Streams {
 public:
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams();
  /// Of a communicator, which keeps it; others may keep it longer. Null if there is none. `make`:
  /// makes it if channels are allowed.
  static std::shared_ptr<Streams> of(MPI_Comm comm, bool make);

  /// The channel to a rank of the communicator with that tag. Null if there is none.
  OutChannel* to(int dest, int tag) const {
    const auto found = out_.find(key(dest, tag));
    return found == out_.end() ? nullptr : found->second.channel.get();
  }
  /// Likewise, for a message or a receive that is about to begin.
  OutChannel* use_to(int dest, int tag) {
    auto* channel = to(dest, tag);
    if (channel) channel->use(last_out_);
    return channel;
  }
  InChannel* use_from(int source, int tag) {
    auto* channel = from(source, tag);
    if (channel) channel->use(last_in_);
    return channel;
  }
  /// A message is about to go there that the receiver's GPU can read. Makes a channel for the
  /// second such message, if its memory can be exported. `receiver`: the rank in MPI_COMM_WORLD.
  OutChannel* learn(int dest, int tag, std::uint32_t receiver, const device::Place& memory);
  /// A message in host memory is about to go there that would gain by a channel. Makes one for the
  /// second such message, and offers it by its name. `comm`: the communicator of these streams.
  void offer(MPI_Comm comm, int dest, int tag);
  /// A receive into host memory is about to begin that would gain by a channel. Looks for the
  /// sender's offer, from the second such receive on, ever more seldom.
  void look_for(MPI_Comm comm, int source, int tag);

  InChannel* from(int source, int tag) const {
    const auto found = in_.find(key(source, tag));
    return found == in_.end() ? nullptr : found->second.channel.get();
  }
  /// The channel, for those that may live longer than it.
  std::shared_ptr<OutChannel> shared_to(int dest, int tag) const { return out_.at(key(dest, tag)).channel; }
  /// The messages to that rank with that tag, or from it, have ended, and what comes later is
  /// another stream.
  void forget_to(int dest, int tag);
  void forget_from(int source, int tag);
  /// The channel to that rank with that tag, or from it, is used no more. Operations that are under
  /// way keep it.
  void leave_to(int dest, int tag);
  void leave_from(int source, int tag);
  /// A receive begins of which is known that the MPI is to do it. If there were only such receives
  /// lately, leaves the channel. Returns whether there is no channel.
  bool leave_if_idle(int source, int tag) {
    auto* channel = from(source, tag);
    if (channel && channel->is_idle()) leave_from(source, tag);
    return !from(source, tag);
  }
  /// A receive begins that names no source or no tag, and may get any message.
  void learn_no_more() {
    if (InChannel::learning() == 0) return;
    for (auto& [key, in] : in_)
      if (in.channel) in.channel->cannot_learn();
  }
  /// Whether there is a channel to any rank, or from any.
  bool sends() const { return out_channels_ > 0; }
  bool receives() const { return in_channels_ > 0; }
  /// A message has told of a channel. Returns null if it is not there any more.
  InChannel* join(int source, int tag, const transport::ChannelStamp& stamp);

  /// From now on there is no new channel to that rank with that tag, or from it. `source` and `tag`
  /// may be those of any message.
  void bar_to(int dest, int tag) { barred_out_.add(key(dest, tag)); }
  void bar_from(int source, int tag) {
    source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG ? barred_in_.add_all() : barred_in_.add(key(source, tag));
  }

  /// Numbers receives in the order in which they begin.
  std::uint64_t next_turn() { return turn_++; }
  /// How many receives are under way that name no source or no tag.
  unsigned wildcards = 0;

 private:
  static std::uint64_t key(int peer, int tag) {
    return std::uint64_t{static_cast<std::uint32_t>(peer)} << 32 | static_cast<std::uint32_t>(tag);
  }
  /// Some keys, or all if there are many.
  class Keys {
   public:
    void add(std::uint64_t one) {
      if (!all_) some_.insert(one);
      if (some_.size() > most) add_all();
    }
    void add_all() {
      all_ = true;
      some_.clear();
    }
    bool has(std::uint64_t one) const { return all_ || some_.contains(one); }

   private:
    static constexpr std::size_t most = 1024;
    std::unordered_set<std::uint64_t> some_;
    bool all_ = false;
  };
  // Messages, or receives, are counted until there is a channel.
  struct Out {
    unsigned messages = 0, offers = 0;
    std::shared_ptr<OutChannel> channel;
  };
  struct In {
    unsigned receives = 0;
    std::uint64_t tried = 0;  // the serial of the offer that this rank has taken last
    std::unique_ptr<InChannel> channel;
  };
  OutChannel* made(Out& out, std::shared_ptr<OutChannel> channel);
  InChannel* joined(In& in, std::unique_ptr<InChannel> channel);
  Succession::Last last_out_, last_in_;  // outlive the channels
  std::unordered_map<std::uint64_t, Out> out_;
  std::unordered_map<std::uint64_t, In> in_;
  unsigned out_channels_ = 0, in_channels_ = 0;
  // Channels that are used no more:
  std::vector<std::shared_ptr<OutChannel>> left_out_;
  std::vector<std::unique_ptr<InChannel>> left_in_;
  Keys barred_out_, barred_in_;
  std::uint64_t turn_ = 0;
};

/// Whether this process has a channel. Costs one load.
inline bool channels_in_use() { return process->channels.load(std::memory_order_relaxed); }

/// Whether a message to that rank, or a receive of that source and tag, must be counted.
bool has_channel_to(MPI_Comm comm, int dest, int tag);
bool has_channel_from(MPI_Comm comm, int source, int tag);
inline bool channel_counts_send(MPI_Comm comm, int dest, int tag) {
  return channels_in_use() && has_channel_to(comm, dest, tag);
}
inline bool channel_counts_receive(MPI_Comm comm, int source, int tag) {
  return channels_in_use() && has_channel_from(comm, source, tag);
}

}  // namespace dunnage::mpi
