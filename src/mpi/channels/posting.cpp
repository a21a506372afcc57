#include "mpi/channels/posting.hpp"

namespace dunnage::mpi {

Posting::Posting(std::shared_ptr<Streams> streams, int source, int tag)
    : streams_(std::move(streams)), source_(source), tag_(tag) {}

Posting::~Posting() {
  if (kind_ == Kind::waits) channel_->end_wait(wait_);
  if (kind_ == Kind::uncounted) channel_->cannot_learn();
}

std::unique_ptr<Posting> Posting::on(MPI_Comm comm, int source, int tag) {
  if (source == MPI_PROC_NULL || comm == MPI_COMM_NULL) return nullptr;
  auto streams = Streams::of(comm, true);
  return streams ? std::make_unique<Posting>(std::move(streams), source, tag) : nullptr;
}

bool Posting::begin(const Side* side, std::int64_t room) {
  turn_ = streams_->next_turn();
  stamp_ = {};
  channel_ = nullptr;
  if (source_ == MPI_ANY_SOURCE || tag_ == MPI_ANY_TAG) {
    kind_ = Kind::wildcard;
    ++streams_->wildcards;
    streams_->learn_no_more();
    return false;
  }
  channel_ = streams_->use_from(source_, tag_);
  kind_ = Kind::unknown;
  if (!channel_) return false;
  const bool too_long = channel_->is_named() && room > transport::gpu::most_put;
  const auto begun =
      side && !too_long && streams_->wildcards == 0 ? channel_->begin(wait_, *side) : InChannel::Begun::uncounted;
  kind_ = begun == InChannel::Begun::by_channel ? Kind::waits
          : begun == InChannel::Begun::by_mpi   ? Kind::counted
                                                : Kind::uncounted;
  if (kind_ == Kind::uncounted) number_ = channel_->begin_by_mpi();
  if (streams_->wildcards > 0) channel_->cannot_learn();
  return kind_ == Kind::waits;
}

void Posting::end_wait() {
  channel_->end_wait(wait_);
  kind_ = Kind::counted;
}

bool Posting::take_back() {
  if (!channel_->take_back(wait_)) return false;
  kind_ = Kind::counted;
  return true;
}

void Posting::not_begun() {
  const auto kind = std::exchange(kind_, Kind::counted);
  if (kind == Kind::counted) channel_->not_begun();
  if (kind == Kind::wildcard) --streams_->wildcards;
  if (kind == Kind::uncounted) {
    channel_->end_by_mpi();
    channel_->cannot_learn();
  }
}

void Posting::lost() {
  if (kind_ == Kind::counted) {
    channel_->not_begun();
    channel_->begin_by_mpi();
  }
  kind_ = Kind::counted;
}

void Posting::ended(const MPI_Status* status) {
  const auto kind = std::exchange(kind_, Kind::counted);
  if (kind == Kind::counted) return;
  // It has got a message or none. As long as it is under way, no other receive is counted.
  if (!status && kind == Kind::uncounted) channel_->cannot_learn();
  if (!status || (kind == Kind::wildcard && untold_)) return;
  if (kind == Kind::wildcard) --streams_->wildcards;
  if (kind == Kind::uncounted) channel_->end_by_mpi();
  int cancelled = 0;
  if (!untold_ && process->own.Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled) {
    if (kind == Kind::uncounted) channel_->cannot_learn();
    return;
  }
  const int source = kind == Kind::wildcard ? status->MPI_SOURCE : source_;
  const int tag = kind == Kind::wildcard ? status->MPI_TAG : tag_;
  auto* channel = streams_->from(source, tag);
  if (!channel) {
    if (stamp_) streams_->join(source, tag, stamp_);
    return;
  }
  auto message = stamp_ && channel->is(stamp_) ? std::optional(stamp_.number) : std::nullopt;
  if (kind == Kind::wildcard) channel->cannot_learn();
  if (kind == Kind::uncounted && channel == channel_ && !message && number_) message = channel->message_of(*number_);
  channel->got(turn_, message);
  if (channel->hopeless()) streams_->leave_from(source, tag);
}

void taken_by_probe(MPI_Comm comm, const MPI_Status& status) {
  if (!channels_in_use()) return;
  const auto streams = Streams::of(comm, false);
  auto* channel = streams ? streams->from(status.MPI_SOURCE, status.MPI_TAG) : nullptr;
  if (!channel) return;
  channel->cannot_learn();
  channel->got(streams->next_turn(), std::nullopt);
  if (channel->hopeless()) streams->leave_from(status.MPI_SOURCE, status.MPI_TAG);
}

}  // namespace dunnage::mpi
