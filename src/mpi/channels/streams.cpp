#include "mpi/channels/streams.hpp"

#include "device/ipc.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/attribute.hpp"
#include "mpi/process/gpu_use.hpp"

namespace dunnage::mpi {
namespace {

/// Each takes 8 KiB of shared memory.
constexpr unsigned most_channels = 4096;
bool some_unseen = false;  // a persistent request for which nothing could be barred

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

bool channels_allowed() { return process->world && process->settings.channels && one_thread_at_a_time(); }

bool channels_possible() { return gpu_announcements() && !some_unseen && channels_allowed(); }

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

OutChannel* Streams::learn(int dest, int tag, std::uint32_t receiver, const device::Place& memory) {
  if (barred_out_.has(key(dest, tag))) return nullptr;
  auto& out = out_[key(dest, tag)];
  if (++out.messages < 2 || OutChannel::alive() >= most_channels || !channels_possible()) return nullptr;
  out.messages = 0;
  if (!device::export_of(*device::driver(), memory, process->rank)) return nullptr;
  out.channel = OutChannel::make(receiver);
  if (!out.channel) return nullptr;
  process->channels.store(true, std::memory_order_relaxed);
  return out.channel.get();
}

InChannel* Streams::join(int source, int tag, const transport::ChannelStamp& stamp) {
  if (!channels_possible() || barred_in_.has(key(source, tag))) return nullptr;
  auto channel = InChannel::join(stamp, turn_);
  if (!channel) return nullptr;
  process->channels.store(true, std::memory_order_relaxed);
  return (in_[key(source, tag)] = std::move(channel)).get();
}

}  // namespace dunnage::mpi
