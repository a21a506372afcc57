#include "mpi/ways/send.hpp"

#include "device/looks.hpp"
#include "mpi/channels/streams.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/ways/by_channel.hpp"
#include "mpi/ways/channel_send.hpp"
#include "mpi/ways/outbound.hpp"
#include "mpi/ways/send_request.hpp"
#include "mpi/ways/staged_send.hpp"

namespace dunnage::mpi {
namespace {

MessageTurn turn_of(const SendCall& call) {
  return turn_of(call.hook, operation_of(call.hook), call.buffer, call.count, call.type, call.dest, call.comm);
}

/// Whether the trial of host memory is to be asked before a channel is: it measures what the
/// channel brings.
bool tries_channel(const SendCall& call) {
  if (!channels_in_use() || !surely_host(call.buffer) || call.apart || channels_unmeasured()) return false;
  const auto streams = Streams::of(call.comm, false);
  const auto* channel = streams ? streams->to(call.dest, call.tag) : nullptr;
  return channel && channel->is_named();
}

/// A nonblocking message in host memory goes by the MPI, and its trial has not chosen the MPI: it
/// may get a channel.
void offer_channel(const SendCall& call, const MessageTurn& turn) {
  const bool wanted = channels_unmeasured() || (turn && !turn.is_chosen_librarys());
  if (!wanted || !surely_host(call.buffer) || call.apart || call.dest < 0) return;
  if (mode_of(call.hook) != Mode::standard || !host_channels_possible()) return;
  if (const auto* known = known_type(call.type); !known || call.count * known->bytes() > transport::gpu::most_put)
    return;
  if (const auto streams = Streams::of(call.comm, true)) streams->offer(call.comm, call.dest, call.tag);
}

}  // namespace

int send(const SendCall& call, Carry carry) {
  const InExchange in_exchange;
  progress_orphans();
  transport::ChannelStamp stamp;
  int refused = MPI_SUCCESS;
  if (const auto by = by_channel(call, stamp, refused)) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count), false,
                              counted_peer(call.comm, call.dest));
    const int code = by->announce(call);
    by->wait();
    return raise_failure(call.comm, code);
  }
  if (refused != MPI_SUCCESS) return refused;
  auto turn = turn_of(call);
  const auto message = outbound(call, turn, stamp);
  if (const auto sending = message ? announce(call.hook, *message) : nullptr) {
    const Accelerated counted(call.hook, sending->bytes(), true, counted_peer(call.comm, call.dest));
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int rc = start_send(*sending, call, true, &request); rc != MPI_SUCCESS) return rc;
    const int moved = sending->move(true, Travels(request));
    int rc = process->own.Wait(&request, MPI_STATUS_IGNORE);
    // Whatever the MPI says, the receiver may be reading.
    const int finished = raise_failure(call.comm, moved != MPI_SUCCESS ? moved : sending->finish());
    if (rc == MPI_SUCCESS) rc = finished;
    turn.ended(rc);
    return rc;
  }
  const auto [accepted, parcel] = stage(call, turn, message);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  const auto carried = [&](const void* data, std::int64_t count, MPI_Datatype type) {
    const int code = carry(data, count, type);
    turn.ended(code);
    return code;
  };
  if (!accepted) return carried(call.buffer, call.count, call.type);
  const Accelerated counted(call.hook, accepted.bytes(), false, counted_peer(call.comm, call.dest));
  if (const int code = gather(parcel, accepted.buffer); code != MPI_SUCCESS) return raise(call.comm, code);
  const Shown shown(parcel);
  return carried(shown.data(), shown.count(), shown.type());
}

int begin_send(const SendCall& call, MPI_Request* request, Carry carry) {
  const InExchange in_exchange;
  progress_orphans();
  transport::ChannelStamp stamp;
  int refused = MPI_SUCCESS;
  const bool tries = tries_channel(call);
  auto turn = tries ? turn_of(call) : MessageTurn();
  if (auto by = by_channel(call, stamp, refused, device::Looks::Span::operations)) {
    if (!by->line || turn.is_librarys()) turn.give_up();
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count), false,
                              counted_peer(call.comm, call.dest));
    int code = by->announce(call);
    if (code == MPI_SUCCESS)
      if (auto rested = by->channel->resting.take()) {
        auto* const send = static_cast<ChannelSend*>(rested.release());
        send->measure(turn.take_message());
        send->begin_again(std::move(*by), request);
        return MPI_SUCCESS;
      }
    auto operation = std::make_unique<ChannelSend>(call, *by);
    operation->measure(turn.take_message());
    if (code == MPI_SUCCESS) code = operation->take_handle(request);
    if (code != MPI_SUCCESS) {
      device::Looks::forget();
      by->wait();
      return raise_failure(call.comm, code);
    }
    attach(*request, std::move(operation));
    return MPI_SUCCESS;
  }
  if (stamp) device::Looks::forget();  // the message may end without a call about a request of ours
  if (refused != MPI_SUCCESS) return refused;
  if (!tries) turn = turn_of(call);
  offer_channel(call, turn);
  const auto message = outbound(call, turn, stamp);
  if (auto sending = message ? announce(call.hook, *message) : nullptr) {
    const Accelerated counted(call.hook, sending->bytes(), true, counted_peer(call.comm, call.dest));
    if (const int rc = start_send(*sending, call, false, request); !mpi_began(rc, request)) {
      turn.give_up();
      return rc;
    }
    const int moved = sending->move(true, Travels(*request));
    // An MPI may give one handle to all sends that are complete when they begin. So nobody could
    // tell such a send by its request. MPICH does that for messages to oneself.
    if (sending->finishes_alone() && mpi_ended(*request)) {
      forget_request(MPI_SUCCESS, request);
      if (moved != MPI_SUCCESS) return raise(call.comm, moved);
      finish_later(std::move(sending), errors_of_comm(call.comm));
      return MPI_SUCCESS;
    }
    auto operation = std::make_unique<SendRequest>(call, std::move(sending));
    operation->measure(turn.take_message());
    if (moved == MPI_SUCCESS) {
      attach(*request, std::move(operation));
      return MPI_SUCCESS;
    }
    adopt_orphan(*request, std::move(operation));  // the announcement must still be received
    *request = MPI_REQUEST_NULL;
    return raise(call.comm, moved);
  }
  auto [accepted, parcel] = stage(call, turn, message);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  const auto attach_measured = [&](std::unique_ptr<Request> operation, std::int64_t bytes) {
    operation->measure(turn.take_message());
    attach(*request, std::move(operation), mode_of(call.hook) == Mode::buffered ? 0 : bytes);
  };
  if (!accepted) {
    const int rc = carry(call.buffer, call.count, call.type);
    if (turn.is_measured() && mpi_began(rc, request))
      attach_measured(std::make_unique<Request>(errors_of_comm(call.comm)),
                      call.count * known_type(call.type)->bytes());  // which is known, because it has a trial
    else
      forget_request(rc, request);
    turn.ended(rc);
    return rc;
  }
  const Accelerated counted(call.hook, accepted.bytes(), false, counted_peer(call.comm, call.dest));
  if (const int code = gather(parcel, accepted.buffer); code != MPI_SUCCESS) return raise(call.comm, code);
  const Shown shown(parcel);
  const int rc = carry(shown.data(), shown.count(), shown.type());
  if (mpi_began(rc, request))
    attach_measured(std::make_unique<SendRequest>(call, accepted.buffer, std::move(parcel), std::nullopt),
                    accepted.bytes());
  turn.ended(rc);
  return rc;
}

int init_send(const SendCall& call, MPI_Request* request, Carry carry) {
  progress_orphans();
  const bool buffered = mode_of(call.hook) == Mode::buffered;
  auto message = buffered ? std::nullopt : outbound(call);
  if (buffered) avoid_length(call.count, call.type, call.dest, call.comm);
  auto [accepted, parcel, trial] = stage_persistent(call, message);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  std::optional<Accelerated> counted;
  if (parcel) counted.emplace(call.hook, accepted.bytes(), false, counted_peer(call.comm, call.dest));
  int rc = MPI_SUCCESS;
  if (parcel) {
    const Shown shown(parcel);
    rc = carry(shown.data(), shown.count(), shown.type());
  } else {
    rc = carry(call.buffer, call.count, call.type);
    forget_request(rc, request);
  }
  if (message && !message->buffer.device() && !taken(*message)) message.reset();
  // The first call on device memory: until now such short messages were none for the ways.
  if (!message && !buffered && announcements_possible() && accepted.buffer.device() && call.dest >= 0)
    if (const auto rank = world_rank(call.comm, call.dest); rank >= 0)
      message = from_device(call, static_cast<std::uint32_t>(rank), accepted.bytes(), accepted.buffer);
  if (!mpi_began(rc, request) || call.dest == MPI_PROC_NULL) return rc;
  const auto unseen = [&] {
    if (!call.apart) no_channel_to(call.comm, call.dest, call.tag);
    return rc;
  };
  auto streams = !call.apart && channels_allowed() ? Streams::of(call.comm, true) : nullptr;
  if (!accepted && !message) {
    if (!channels_in_use() || !streams) return unseen();
    if (guarded([&] { accepted.buffer = buffer_of(const_cast<void*>(call.buffer), call.count, call.type); }) !=
        MPI_SUCCESS)
      return unseen();
  }
  auto operation = std::make_unique<SendRequest>(call, accepted.buffer, std::move(parcel), std::move(message));
  operation->persistent = true;
  operation->watch_comm();
  operation->ask_at_starts(trial);
  operation->tell(std::move(streams));
  attach(*request, std::move(operation));
  return rc;
}

SendInside::SendInside(const SendCall& call) : call_(call) {
  transport::ChannelStamp stamp;
  if (auto by = by_channel(call, stamp, refused_)) {
    by_channel_ = std::make_unique<ByChannel>(std::move(*by));
    moved_ = by_channel_->announce(call);
    return;
  }
  if (refused_ != MPI_SUCCESS) return;
  turn_ = turn_of(call);
  const auto message = outbound(call, turn_, stamp);
  sending_ = message ? announce(call.hook, *message) : nullptr;
  if (sending_) return;
  auto [accepted, parcel] = stage(call, turn_, message);
  error_ = accepted.error;
  buffer_ = std::move(accepted.buffer);
  parcel_ = std::move(parcel);
}

SendInside::~SendInside() = default;

std::int64_t SendInside::bytes() const {
  if (by_channel_) return reported_bytes(call_.type, call_.count);
  return sending_ ? sending_->bytes() : parcel_ ? parcel_.size : 0;
}

int SendInside::pack() {
  // The MPI keeps this thread until it has both messages, so all data are packed before.
  if (sending_) moved_ = sending_->move(false, [] {});  // the receiver hears of a failure too
  return parcel_ ? gather(parcel_, buffer_) : MPI_SUCCESS;
}

int SendInside::finish() {
  if (by_channel_) by_channel_->wait();
  if (by_channel_) return moved_;
  if (!sending_) return MPI_SUCCESS;
  const int finished = sending_->finish();
  return moved_ != MPI_SUCCESS ? moved_ : finished;
}

}  // namespace dunnage::mpi
