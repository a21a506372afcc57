#include "mpi/ways/send_request.hpp"

#include <utility>

#include "mpi/message/accept.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/ways/outbound.hpp"
#include "mpi/ways/staged_send.hpp"

namespace dunnage::mpi {

using plan::Reason;
using transport::Outbound;
using transport::Sending;

SendRequest::SendRequest(const SendCall& call, std::unique_ptr<Sending> sending)
    : Request(errors_of_comm(call.comm)), call_(call), sending_(std::move(sending)) {}

SendRequest::SendRequest(const SendCall& call, memory::Buffer buffer, memory::Parcel parcel,
                         std::optional<Outbound> message)
    : Request(errors_of_comm(call.comm)),
      call_(call),
      message_(std::move(message)),
      buffer_(std::move(buffer)),
      parcel_(std::move(parcel)) {}

void SendRequest::prefetch() const {
  if (by_) by_->prefetch();
}

bool SendRequest::go_on() {
  if (!ended_ && by_->ended()) {
    ended_ = true;
    if (inner != MPI_REQUEST_NULL) end_handle(handle_);
  }
  return ended_;
}

void SendRequest::finish() {
  if (!ended_) by_->wait();
  go_on();
}

void SendRequest::show() {
  if (!by_ || inner != MPI_REQUEST_NULL) return;
  if (new_handle(&handle_) != MPI_SUCCESS) return finish();
  inner = handle_;
  if (ended_) end_handle(handle_);
}

bool SendRequest::cancel() {
  if (by_) return true;  // its receive has begun, or a copy is on its way, so it succeeds
  if (inner != MPI_REQUEST_NULL && !sending_) process->own.Cancel(&inner);
  return Request::cancel();
}

bool SendRequest::better_later() const {
  const auto* channel = streams_ && call_.dest >= 0 ? streams_->use_to(call_.dest, call_.tag) : nullptr;
  return channel && channel->early();
}

SendRequest::Start SendRequest::begin(int& code) {
  by_.reset();
  transport::ChannelStamp stamp;
  auto turn = trial_ && !comm_gone_() ? turn_of(*trial_, {call_.dest, call_.comm, buffer_.size()}) : MessageTurn();
  const bool may_go_by_channel = streams_ && streams_->sends() && call_.dest >= 0;
  if (may_go_by_channel) by_ = find_channel(stamp);
  if (by_) {
    if (!by_->line || turn.is_librarys()) turn.give_up();
    measure(turn.take_message());
    return begin_by_channel(code);
  }
  if (auto* const channel = may_go_by_channel ? streams_->to(call_.dest, call_.tag) : nullptr) channel->put_off.note();
  if (turn) return begin_by_turn(turn, code);
  if (trial_) return Start::by_mpi;
  if (message_ && !comm_gone_()) {
    message_->stamp = stamp;
    if (message_->buffer.device()) ask_again(*message_);
    if (channels_possible()) learn(streams_, call_.dest, call_.tag, *message_);
    if (auto sending = announce(call_.hook, *message_)) return begin_announced(std::move(sending), code);
  }
  if (parcel_) code = gather(parcel_, buffer_);
  return code == MPI_SUCCESS ? Start::by_mpi : Start::failed;
}

int SendRequest::arrive(MPI_Status& status) {
  const auto sending = std::exchange(sending_, nullptr);
  if (!sending) return MPI_SUCCESS;
  int cancelled = 0;
  process->own.Test_cancelled(&status, &cancelled);
  const int moved = std::exchange(moved_, MPI_SUCCESS);
  if (cancelled) {
    sending->cancel();
    return MPI_SUCCESS;
  }
  return moved != MPI_SUCCESS ? moved : sending->finish();
}

std::optional<ByChannel> SendRequest::find_channel(transport::ChannelStamp& stamp) {
  const auto mode = mode_of(call_.hook);
  const auto take = [&](OutLine& line) {
    return mode == Mode::buffered ? MPI_ERR_OTHER : take_buffer(line);  // copies are announced later
  };
  const auto asking = [&](const std::shared_ptr<OutChannel>& channel, std::uint64_t message) {
    if (mode != Mode::standard || !trial_ || comm_gone_()) return Asked::no;
    avoid_length(call_.count, call_.type, call_.dest, call_.comm);
    return ask_by_mpi(channel, message, buffer_, call_.dest, call_.tag, call_.comm, true);
  };
  return by_channel(streams_, call_.dest, call_.tag, stamp, take, asking);
}

void SendRequest::offer_channel() {
  streams_->offer(call_.comm, call_.dest, call_.tag);
  // A message that this call has put off is none of those that will be counted.
  if (auto* const channel = streams_->to(call_.dest, call_.tag)) channel->put_off.note();
}

SendRequest::Start SendRequest::begin_by_turn(MessageTurn& turn, int& code) {
  if ((channels_unmeasured() || !turn.is_chosen_librarys()) && streams_ && mode_of(call_.hook) == Mode::standard &&
      buffer_.size() <= transport::gpu::most_put && host_channels_possible())
    offer_channel();
  measure(turn.take_message());
  if (turn.is_librarys()) {
    if (trial_->settled()) parcel_ = {};
    return left_to_mpi(turn.is_left() ? Reason::left_by_other : Reason::tried);
  }
  if (message_)
    if (auto sending = announce(call_.hook, *message_)) return begin_announced(std::move(sending), code);
  Reason why;
  if (!parcel_) parcel_ = parcel_of(call_.hook, buffer_, false, why);
  if (!parcel_) return measure_no_more(), left_to_mpi(why);
  const Accelerated counted(call_.hook, buffer_.size(), false, counted_peer(call_.comm, call_.dest));
  code = gather(parcel_, buffer_);
  if (code != MPI_SUCCESS) return Start::failed;
  const Shown shown(parcel_);
  const auto begin = mode_of(call_.hook) == Mode::synchronous ? process->own.Issend : process->own.Isend;
  MPI_Request begun = MPI_REQUEST_NULL;
  code = begin(shown.data(), static_cast<int>(shown.count()), shown.type(), call_.dest, call_.tag, call_.comm, &begun);
  if (code == MPI_SUCCESS) inner = begun;
  return Start::done;
}

SendRequest::Start SendRequest::left_to_mpi(Reason why) {
  if (process->reporting)
    process->count_declined(call_.hook, why, buffer_.size(), counted_peer(call_.comm, call_.dest));
  return Start::by_mpi;
}

int SendRequest::take_buffer(OutLine& line) {
  if (keeper_ == 0) keeper_ = next_keeper();
  return line.take(message_ ? message_->buffer : buffer_, keeper_);
}

SendRequest::Start SendRequest::begin_by_channel(int& code) {
  const Accelerated counted(call_.hook, buffer_.size(), false, counted_peer(call_.comm, call_.dest));
  if (by_->line && !by_->rung) take_buffer(*by_->line);
  code = by_->announce(call_.hook);
  if (code != MPI_SUCCESS) {
    by_->wait();
    by_.reset();
    return Start::failed;
  }
  ended_ = false;
  return Start::done;
}

SendRequest::Start SendRequest::begin_announced(std::unique_ptr<Sending> sending, int& code) {
  const Accelerated counted(call_.hook, sending->bytes(), true, counted_peer(call_.comm, call_.dest));
  MPI_Request begun = MPI_REQUEST_NULL;
  code = start_send(*sending, call_, false, &begun);
  if (code != MPI_SUCCESS) return Start::done;  // the MPI has called the error handler
  moved_ = sending->move(true, Travels(begun));
  sending_ = std::move(sending);
  inner = begun;
  return Start::done;
}

}  // namespace dunnage::mpi
