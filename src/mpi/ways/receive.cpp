#include "mpi/ways/receive.hpp"

#include "device/surely_host.hpp"
#include "mpi/channels/streams.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/announcement.hpp"
#include "mpi/ways/from_channel.hpp"
#include "mpi/ways/receive_request.hpp"
#include "mpi/ways/watched_receive.hpp"

namespace dunnage::mpi {
namespace {

using plan::Operation;

/// Contiguous host data with room for an announcement, and nothing else for us to do.
bool meets_announcements_only(const ReceiveCall& call) {
  if (!surely_host(call.buffer) || process->attention.load(std::memory_order_relaxed)) return false;
  if (!announcements_possible() || call.count <= 0) return false;
  const auto* known = known_type(call.type);
  return known && known->reason() == plan::Reason::contiguous && known->bytes() != 0;
}

MessageTurn turn_of(const ReceiveCall& call) {
  return turn_of(call.hook, Operation::receive, call.buffer, call.count, call.type, call.source, call.comm);
}

Accepted accept_receive(const ReceiveCall& call, const MessageTurn& turn) {
  return accept_message(call.hook, Operation::receive, turn, call.buffer, call.count, call.type, call.most, call.source,
                        call.comm);
}

/// The parcel of an accepted receive. Clears `accepted`, and counts, if there is no memory.
memory::Parcel stage(const ReceiveCall& call, MessageTurn& turn, Accepted& accepted) {
  if (!accepted) {
    if (turn.is_ours()) turn.give_up();
    return {};
  }
  auto parcel = parcel_for(accepted.buffer, Operation::receive, accepted.bytes(), false, accepted.passed);
  if (parcel) return parcel;
  process->count(call.hook, plan::Reason::no_memory);
  if (accepted.buffer.device()) accepted.error = MPI_ERR_NO_MEM;
  accepted.buffer = {};
  turn.give_up();
  return {};
}

/// Tells a Posting the end of a call that has lasted as long as the receive.
class EndOf {
 public:
  EndOf(Posting* posting, const MPI_Status& status) : posting_(posting), status_(status) {}
  EndOf(const EndOf&) = delete;
  EndOf& operator=(const EndOf&) = delete;
  ~EndOf() {
    if (!posting_) return;
    if (!returned_)
      posting_->not_begun();
    else if (well_)
      posting_->ended(&status_);
    else
      posting_->lost();
  }
  /// The call of the MPI has returned.
  int operator()(int rc) {
    returned_ = true;
    well_ = rc == MPI_SUCCESS;
    return rc;
  }

 private:
  Posting* const posting_;
  const MPI_Status& status_;
  bool returned_ = false, well_ = false;
};

}  // namespace

std::optional<int> receive_by_mpi(const ReceiveCall& call, MPI_Status* users, Take take) {
  if (!meets_announcements_only(call) || (!call.apart && channel_counts_receive(call.comm, call.source, call.tag)))
    return std::nullopt;
  const InExchange in_exchange;
  see_host_message();
  answer_letters();
  StatusOr status(users);
  const int rc = take(call.buffer, call.count, call.type, status.get());
  if (rc != MPI_SUCCESS) return ended_by_mpi(rc, *status, call.comm);
  if (!may_be_announcement(told_bytes(*status)) || call.source == MPI_PROC_NULL) return rc;
  return settle_in_place(call.buffer, call.count, call.type, *status.get(), call.comm);
}

int receive(const ReceiveCall& call, MPI_Status* users, Take take) {
  if (const auto code = receive_by_mpi(call, users, take)) return *code;
  const InExchange in_exchange;
  progress_orphans();
  answer_letters();
  const auto posting = posting_of(call);
  if (posting && waits_for_channel(*posting, call)) return receive_by_channel(call, *posting, users);
  auto turn = turn_of(call);
  auto accepted = accept_receive(call, turn);
  const auto parcel = stage(call, turn, accepted);
  StatusOr status(users);
  EndOf end(posting.get(), *status);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  const auto told = [&](int code) {
    turn.ended(code);
    return code;
  };
  if (!accepted) {
    if (!announcements_possible()) return told(take(call.buffer, call.count, call.type, users));
    const int rc = end(take(call.buffer, call.count, call.type, status.get()));
    if (rc != MPI_SUCCESS || call.source == MPI_PROC_NULL) return ended_by_mpi(rc, *status, call.comm);
    return told(settle_in_place(call.buffer, call.count, call.type, *status.get(), call.comm, posting.get()));
  }
  const Accelerated counted(call.hook, accepted.bytes());
  const Shown shown(parcel);
  const int rc = end(take(shown.data(), shown.count(), shown.type(), status.get()));
  if (rc != MPI_SUCCESS) return ended_by_mpi(rc, *status, call.comm);
  return told(settle_staged(parcel, accepted.buffer, *status.get(), call.comm, posting.get()));
}

namespace {

/// Of a receive that has a trial and is surely into host memory: whose turn it is. Such a receive
/// may hear of a channel, and the trial measures what that brings.
MessageTurn turn_before_channel(const ReceiveCall& call) {
  if (!surely_host(call.buffer) || call.apart || call.source < 0 || call.tag < 0 || !host_channels_possible())
    return {};
  auto turn = channels_unmeasured() ? MessageTurn() : turn_of(call);
  const auto streams = turn || channels_unmeasured() ? Streams::of(call.comm, true) : nullptr;
  if (!streams) return turn;
  if (turn.is_chosen_librarys())
    streams->leave_if_idle(call.source, call.tag);
  else
    streams->look_for(call.comm, call.source, call.tag);
  return turn;
}

/// A receive that was complete, and serves again, if it waits for the channel. Else `posting` has
/// begun, if there was such a receive.
bool begin_again(const ReceiveCall& call, MessageTurn& turn, MPI_Request* request, std::unique_ptr<Posting>& posting) {
  if (!channels_in_use() || call.apart) return false;
  auto streams = Streams::of(call.comm, false);
  auto* channel = streams ? streams->from(call.source, call.tag) : nullptr;
  auto rested = channel ? channel->resting.take() : nullptr;
  if (!rested) return false;
  auto* receive = static_cast<ReceiveRequest*>(rested.get());
  if (receive->begin_again(call, std::move(streams), request)) {
    receive->measure(turn.take_message());
    return (void)rested.release(), true;
  }
  posting = receive->give_posting();
  process->requests.erase(receive->key);
  return false;
}

}  // namespace

int begin_receive(const ReceiveCall& call, bool persistent, MPI_Request* request, Begin begin) {
  if (!persistent)
    if (auto watched = watch_only(call)) {
      see_host_message();
      answer_letters();
      return watch(begin(call.buffer, call.count, call.type), request, std::move(watched));
    }
  const InExchange in_exchange;
  progress_orphans();
  answer_letters();
  auto turn = persistent ? MessageTurn() : turn_before_channel(call);
  std::unique_ptr<Posting> begun;
  if (!persistent && !turn.is_librarys() && begin_again(call, turn, request, begun)) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count));
    return MPI_SUCCESS;
  }
  auto* const trial =
      persistent ? trial_at_starts(call.hook, Operation::receive, call.buffer, call.count, call.type, call.source)
                 : nullptr;
  // A persistent receive tells channels at each start. Without a driver only data that have a trial
  // get channels. A receive that tells nothing bars its source and tag from channels.
  const bool has_begun = begun != nullptr;
  const bool tells =
      persistent && !call.apart && channels_allowed() && (trial || channels_in_use() || !device::surely_no_driver());
  auto posting = has_begun ? std::move(begun)
                 : tells   ? Posting::on(call.comm, call.source, call.tag)
                           : posting_of(call);
  const auto waits = [&] { return turn.is_librarys() ? posting->begin(nullptr) : waits_for_channel(*posting, call); };
  if (!persistent && posting && !has_begun && waits()) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count));
    auto operation = std::make_unique<ReceiveRequest>(call, memory::Buffer(), memory::Parcel(), std::move(posting));
    operation->measure(turn.take_message());
    if (const int code = operation->begin_wait(call, request); code != MPI_SUCCESS) return raise(call.comm, code);
    attach(*request, std::move(operation));
    return MPI_SUCCESS;
  }
  const bool barred = persistent && !posting && !call.apart && call.source != MPI_PROC_NULL;
  if (trial)
    if (auto accepted = accept_receive(call, MessageTurn(plan::Packer::cached))) {
      const int rc = begin(call.buffer, call.count, call.type);
      if (!mpi_began(rc, request)) return rc;
      auto operation = std::make_unique<ReceiveRequest>(call, accepted.buffer, memory::Parcel(), std::move(posting));
      operation->persistent = true;
      operation->ask_at_starts(*trial, call);
      attach(*request, std::move(operation));
      if (barred) no_channel_from(call.comm, call.source, call.tag);
      return rc;
    }
  if (!turn) turn = turn_of(call);
  auto accepted = accept_receive(call, turn);
  auto parcel = stage(call, turn, accepted);
  if (accepted.error != MPI_SUCCESS) {
    if (posting && !persistent) posting->not_begun();
    return raise(call.comm, accepted.error);
  }
  if (!accepted) {
    auto* const told = posting.get();
    auto watched = watch_receive(call, std::move(posting));
    if (!watched && turn.is_measured())
      watched = std::make_unique<ReceiveRequest>(call, memory::Buffer(), memory::Parcel(), nullptr);
    if (watched) {
      watched->persistent = persistent;
      watched->measure(turn.take_message());
    }
    const bool unseen = barred || (!watched && persistent && !call.apart && call.source != MPI_PROC_NULL);
    const int rc = begin(call.buffer, call.count, call.type);
    const bool began = mpi_began(rc, request);
    if (!began && told && !persistent) told->not_begun();
    if (began && unseen) no_channel_from(call.comm, call.source, call.tag);
    return watch(rc, request, std::move(watched));
  }
  const Accelerated counted(call.hook, accepted.bytes());
  auto operation = std::make_unique<ReceiveRequest>(call, accepted.buffer, std::move(parcel), nullptr);
  operation->persistent = persistent;
  operation->measure(turn.take_message());
  auto* const told = posting.get();
  if (posting) operation->tell(std::move(posting));
  const Shown shown(operation->parcel());
  const int rc = begin(shown.data(), shown.count(), shown.type());
  const bool began = mpi_began(rc, request);
  if (began) attach(*request, std::move(operation));
  if (began && barred) no_channel_from(call.comm, call.source, call.tag);
  if (!began && told && !persistent) told->not_begun();
  return rc;
}

ReceiveInside::ReceiveInside(const ReceiveCall& call)
    : call_(call),
      posting_(posting_of(call)),
      turn_(turn_of(call)),
      accepted_(accept_receive(call, turn_)),
      parcel_(stage(call, turn_, accepted_)) {
  if (posting_) posting_->begin(nullptr);
}

int ReceiveInside::settle(int rc, MPI_Status& status) const {
  if (rc != MPI_SUCCESS) return ended_by_mpi(rc, status, call_.comm);
  if (call_.source == MPI_PROC_NULL) return MPI_SUCCESS;
  const auto settled = [&] {
    if (parcel_) return settle_staged(parcel_, accepted_.buffer, status, call_.comm, posting_.get());
    return announcements_possible()
               ? settle_in_place(call_.buffer, call_.count, call_.type, status, call_.comm, posting_.get())
               : MPI_SUCCESS;
  };
  const int code = settled();
  if (posting_) posting_->ended(&status);
  return code;
}

}  // namespace dunnage::mpi
