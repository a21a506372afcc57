#include "mpi/channels/streams.hpp"

#include <bit>

#include "device/ipc.hpp"
#include "mpi/channels/offer_name.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// Each takes 8 KiB of shared memory.
constexpr unsigned most_channels = 4096;
/// Streams of a communicator of which messages, or receives, are counted before there is a channel.
constexpr std::size_t most_streams = 8192;
/// Of one stream, whose receiver has left the channels before.
constexpr unsigned most_offers = 4;
bool some_unseen = false;  // a persistent request for which nothing could be barred
unsigned channels = 0;     // that are used, of all communicators

/// Channels are used from now on, or no more.
void count_channels(unsigned more, unsigned fewer) {
  channels = channels + more - fewer;
  process->channels.store(channels > 0, std::memory_order_relaxed);
}

/// The communicator that was looked for last. Most programs use one communicator again and again,
/// and the MPI takes a lock to look for an attribute.
MPI_Comm last_comm = MPI_COMM_NULL;
const std::shared_ptr<Streams>* last_streams = nullptr;

/// What a communicator keeps.
struct Kept {
  std::shared_ptr<Streams> streams;
  ~Kept() {
    if (last_streams == &streams) last_streams = nullptr;
  }
};
Attribute<Kept> all_streams;

/// Null if the communicator has none.
const std::shared_ptr<Streams>* find(MPI_Comm comm) {
  if (last_streams && comm == last_comm) return last_streams;
  Kept* found = nullptr;
  if (comm == MPI_COMM_NULL || !all_streams.find(comm, found) || !found) return nullptr;
  last_comm = comm;
  return last_streams = &found->streams;
}

}  // namespace

bool channels_allowed() {
  return process->world && process->settings.channels != base::Channels::off && one_thread_at_a_time();
}

bool channels_possible() { return gpu_announcements() && host_channels_possible(); }

bool host_channels_possible() { return !some_unseen && channels_allowed(); }

namespace {

template <class Bar>
void bar(MPI_Comm comm, Bar&& in) try {
  if (const auto streams = Streams::of(comm, true))
    in(*streams);
  else
    some_unseen = true;
} catch (const std::exception&) {
  some_unseen = true;
}

}  // namespace

void no_channel_to(MPI_Comm comm, int dest, int tag) {
  bar(comm, [&](Streams& streams) { streams.bar_to(dest, tag); });
}

void no_channel_from(MPI_Comm comm, int source, int tag) {
  bar(comm, [&](Streams& streams) { streams.bar_from(source, tag); });
}

std::shared_ptr<Streams> Streams::of(MPI_Comm comm, bool make) {
  if (comm == MPI_COMM_NULL || !channels_allowed()) return nullptr;
  if (const auto* found = find(comm)) return *found;
  Kept* none = nullptr;
  int between = 0;
  if (!make || !all_streams.find(comm, none)) return nullptr;
  if (process->own.Comm_test_inter(comm, &between) != MPI_SUCCESS || between) return nullptr;
  const auto* kept = all_streams.put(comm, std::make_unique<Kept>(Kept{std::make_shared<Streams>()}));
  return kept ? kept->streams : nullptr;
}

bool has_channel_to(MPI_Comm comm, int dest, int tag) {
  const auto* streams = find(comm);
  return streams && (*streams)->to(dest, tag);
}

bool has_channel_from(MPI_Comm comm, int source, int tag) {
  const auto* streams = find(comm);
  if (!streams) return false;
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) return (*streams)->receives();
  return (*streams)->from(source, tag) != nullptr;
}

Streams::~Streams() { count_channels(0, out_channels_ + in_channels_); }

OutChannel* Streams::made(Out& out, std::shared_ptr<OutChannel> channel) {
  if (!channel) return nullptr;
  ++out_channels_;
  count_channels(1, 0);
  return (out.channel = std::move(channel)).get();
}

InChannel* Streams::joined(In& in, std::unique_ptr<InChannel> channel) {
  if (!channel) return nullptr;
  ++in_channels_;
  count_channels(1, 0);
  return (in.channel = std::move(channel)).get();
}

OutChannel* Streams::learn(int dest, int tag, std::uint32_t receiver, const device::Place& memory) {
  if (barred_out_.has(key(dest, tag))) return nullptr;
  auto& out = out_[key(dest, tag)];
  if (++out.messages < 2 || OutChannel::alive() >= most_channels || !channels_possible()) return nullptr;
  out.messages = 0;
  if (!device::export_of(*device::driver(), memory, process->rank)) return nullptr;
  return made(out, OutChannel::make(receiver));
}

void Streams::offer(MPI_Comm comm, int dest, int tag) {
  if (barred_out_.has(key(dest, tag)) || (out_.size() >= most_streams && !out_.contains(key(dest, tag)))) return;
  auto& out = out_[key(dest, tag)];
  if (out.channel || out.offers == most_offers || ++out.messages < 2 || OutChannel::alive() >= most_channels) return;
  ++out.offers;
  const auto rank = world_rank(comm, dest);
  if (rank < 0) return;
  const auto receiver = static_cast<std::uint32_t>(rank);
  if (rank != process->rank && !process->world->peers.near(receiver)) return;
  const auto name = offer_name(comm, static_cast<std::uint32_t>(process->rank), receiver, tag);
  auto channel = name != 0 ? OutChannel::make(receiver) : nullptr;
  if (!channel) return;
  channel->name();
  if (!process->world->offer(name, channel->place())) return channel->withdraw();
  made(out, std::move(channel));
}

void Streams::look_for(MPI_Comm comm, int source, int tag) {
  constexpr unsigned most_looks_in_a_row = 16, most_looks = 1024;
  // With a receive under way that may get any message there is nothing to be learnt.
  if (wildcards > 0 || barred_in_.has(key(source, tag))) return;
  if (in_.size() >= most_streams && !in_.contains(key(source, tag))) return;
  auto& in = in_[key(source, tag)];
  if (in.channel || in.receives >= most_looks || ++in.receives < 2) return;
  if (in.receives > most_looks_in_a_row && !std::has_single_bit(in.receives)) return;
  const auto rank = world_rank(comm, source);
  if (rank < 0) return;
  const auto sender = static_cast<std::uint32_t>(rank);
  const auto name = offer_name(comm, sender, static_cast<std::uint32_t>(process->rank), tag);
  const auto place = name != 0 ? process->world->offer_of(sender, name) : std::nullopt;
  if (!place || place->serial == in.tried) return;
  in.tried = place->serial;  // looking there again would count as a second reader
  // A receive that this call has put off is none of those that will be counted.
  if (auto* const channel = joined(in, InChannel::join(sender, *place, turn_))) channel->put_off.note();
}

InChannel* Streams::join(int source, int tag, const transport::ChannelStamp& stamp) {
  if (!channels_possible() || barred_in_.has(key(source, tag))) return nullptr;
  auto& in = in_[key(source, tag)];
  if (in.tried == stamp.serial) return nullptr;
  return joined(in, InChannel::join(stamp.sender, {stamp.begin, stamp.serial}, turn_));
}

void Streams::forget_to(int dest, int tag) {
  const auto found = out_.find(key(dest, tag));
  if (found == out_.end()) return;
  if (found->second.channel) count_channels(0, 1), --out_channels_;
  out_.erase(found);
}

void Streams::forget_from(int source, int tag) {
  const auto found = in_.find(key(source, tag));
  if (found == in_.end()) return;
  if (found->second.channel) count_channels(0, 1), --in_channels_;
  in_.erase(found);
}

void Streams::leave_to(int dest, int tag) {
  auto& out = out_.at(key(dest, tag));
  left_out_.push_back(std::move(out.channel));
  out.messages = 0;
  --out_channels_;
  count_channels(0, 1);
}

void Streams::leave_from(int source, int tag) {
  auto& in = in_.at(key(source, tag));
  in.channel->cannot_learn();
  in.channel->leave();
  left_in_.push_back(std::move(in.channel));
  in.receives = 0;
  --in_channels_;
  count_channels(0, 1);
}

}  // namespace dunnage::mpi
