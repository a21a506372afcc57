#include "mpi/ways/receive_request.hpp"

#include "device/looks.hpp"
#include "mpi/channels/streams.hpp"
#include "mpi/message/accept.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/message_turn.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/announcement.hpp"
#include "mpi/ways/from_channel.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {

using plan::Operation;

ReceiveRequest::ReceiveRequest(const ReceiveCall& call, memory::Buffer buffer, memory::Parcel parcel,
                               std::unique_ptr<Posting> posting)
    : Request(errors_of_comm(call.comm)),
      source_(call.source),
      tag_(call.tag),
      parcel_(std::move(parcel)),
      sender_(parcel_ ? sender_to_ask(parcel_.size, call.source, call.comm) : -1),
      landing_{std::move(buffer), parcel_ ? &parcel_ : nullptr},
      of_world_(call.comm == MPI_COMM_WORLD),
      of_ticket_(may_truncate_tickets() ? world_rank(call.comm, call.source) : -1) {
  if (posting) tell(std::move(posting));
}

void ReceiveRequest::ask_at_starts(plan::ExchangeTrial& trial, const ReceiveCall& call) {
  trial_ = &trial;
  comm_ = call.comm;
  comm_gone_ = CommGone(call.comm);
  sender_ = sender_to_ask(landing_.capacity(), call.source, call.comm);
  hook_ = call.hook;
}

void ReceiveRequest::tell(std::unique_ptr<Posting> posting) {
  posting_ = posting.get();
  tell_end(std::move(posting));
}

int ReceiveRequest::begin_wait(const ReceiveCall& call, MPI_Request* request) {
  take_buffer(call);
  const int code = handle_.take();
  if (code != MPI_SUCCESS) {
    device::Looks::forget();
    return code;
  }
  waits_ = stays = true;
  *request = handle_.get();
  return MPI_SUCCESS;
}

bool ReceiveRequest::begin_again(const ReceiveCall& call, std::shared_ptr<Streams> streams, MPI_Request* request) {
  posting_->serve_again(std::move(streams));
  waits_ = cancelled_ = false;
  if (!waits_for_channel(*posting_, call)) return false;
  waits_ = true;
  take_buffer(call);
  started();
  *request = handle_.get();
  look_after(*this);
  return true;
}

std::unique_ptr<Posting> ReceiveRequest::give_posting() {
  posting_ = nullptr;
  return std::unique_ptr<Posting>(static_cast<Posting*>(end_untold().release()));
}

bool ReceiveRequest::gone(MPI_Request request) {
  if (request != stand_in_) return false;
  stand_in_ = MPI_REQUEST_NULL;
  return true;
}

bool ReceiveRequest::rest() {
  if (!handle_) return false;
  const auto streams = posting_->rest();
  auto* channel = posting_->channel_in(*streams);
  return channel && channel->resting.put(this);
}

bool ReceiveRequest::go_on() {
  if (!has_come()) return false;
  handle_.end();
  return true;
}

void ReceiveRequest::finish() {
  finish_alone();
  handle_.end();
}

void ReceiveRequest::finish_alone() {
  if (delivered) return;
  FetchBatch batch;
  unsigned rounds = 0;
  for (transport::shm::Patience patience; !has_come(); patience.wait()) {
    progress_receives();
    if (++rounds % polls_between == 0) let_mpi_progress();
  }
  for (const auto& failure : batch.finish()) failed_later(failure.code);
}

Request::News ReceiveRequest::ask(MPI_Request handle, MPI_Status& status) {
  if (!waits_) return Request::ask(handle, status);
  return cancelled_ || posting_->has_come() ? News::complete : News::none;
}

void ReceiveRequest::show() {
  if (!waits_) return;
  if (persistent && inner == MPI_REQUEST_NULL) {
    if (handle_.take() != MPI_SUCCESS) return finish();
    inner = handle_.get();
  }
  if (delivered) handle_.end();
}

bool ReceiveRequest::cancel() {
  // Its message has been sent. Later receives count on it.
  if (!waits_ && posting_ && posting_->message_sent()) return true;
  if (!waits_) {
    if (posting_) posting_->may_be_cancelled();
    if (inner == MPI_REQUEST_NULL) return false;
    process->own.Cancel(&inner);
    return true;
  }
  if (!delivered) cancelled_ = cancelled_ || posting_->take_back();
  return true;
}

ReceiveRequest::Start ReceiveRequest::begin(int& code) {
  waits_ = cancelled_ = false;
  landing_.parcel = trial_ ? nullptr : landing_.parcel;
  const bool asks = trial_ && !comm_gone_();
  auto turn = asks ? turn_of(*trial_, {source_, comm_, landing_.capacity()}) : MessageTurn();
  if (asks && posting_) look_for_channel(turn);
  const auto how = posting_ && begin_by_channel(turn) ? Start::done : begin_by_mpi(turn, code);
  if (posting_ && how == Start::by_mpi) posting_->begins_later();
  status_only = how == Start::by_mpi && !posting_ && !landing_.parcel;
  return how;
}

void ReceiveRequest::look_for_channel(const MessageTurn& turn) {
  if (channels_unmeasured() || !turn.is_chosen_librarys()) return posting_->look_for_channel(comm_);
  // Without a driver only such channels matter, and a receive that nobody hears of is faster.
  if (device::surely_no_driver() && posting_->leave_channel()) give_posting();
}

bool ReceiveRequest::begin_by_channel(MessageTurn& turn) {
  if (keeper_ == 0) keeper_ = next_keeper();
  const Side side(keeper_);
  const bool may_wait = landing_.buffer && (channels_unmeasured() || !turn.is_librarys());
  if (!posting_->begin(may_wait ? &side : nullptr, landing_.buffer.size())) return false;
  if (turn.is_librarys()) turn.give_up();
  guarded([&] { posting_->wait().line->take(landing_.buffer, keeper_); });
  measure(turn.take_message());
  return waits_ = true;
}

void ReceiveRequest::tell(MPI_Status& status) const {
  tell_status(come_, source_, tag_, status);
  if (cancelled_) process->own.Status_set_cancelled(&status, 1);
}

void ReceiveRequest::lost(int error, const MPI_Status& status) {
  if (waits_ || !may_truncate_tickets()) return;
  give_back_truncated(error, told_bytes(status), of_world_ ? status.MPI_SOURCE : of_ticket_, status.MPI_TAG);
}

ReceiveRequest::Start ReceiveRequest::begin_by_mpi(MessageTurn& turn, int& code) {
  if (!turn) return Start::by_mpi;
  measure(turn.take_message());
  if (turn.is_librarys()) {
    if (trial_->settled()) drop_parcel();
    return left_to_mpi(turn.is_left() ? plan::Reason::left_by_other : plan::Reason::tried);
  }
  if (!parcel_) parcel_ = parcel_for(landing_.buffer, Operation::receive, landing_.capacity());
  if (!parcel_) return measure_no_more(), left_to_mpi(plan::Reason::no_memory);
  landing_.parcel = &parcel_;
  const Accelerated counted(hook_, landing_.capacity());
  if (stand_in_ == MPI_REQUEST_NULL) code = make_stand_in();
  if (posting_) posting_->begins_now();
  if (code == MPI_SUCCESS) code = process->own.Start(&stand_in_);
  if (code == MPI_SUCCESS) inner = stand_in_;
  return Start::done;
}

int ReceiveRequest::make_stand_in() {
  const Shown shown(parcel_);
  return process->own.Recv_init(shown.data(), static_cast<int>(shown.count()), shown.type(), source_, tag_, comm_,
                                &stand_in_);
}

void ReceiveRequest::drop_parcel() {
  if (stand_in_ != MPI_REQUEST_NULL) process->own.Request_free(&stand_in_);
  parcel_ = {};
}

ReceiveRequest::Start ReceiveRequest::left_to_mpi(plan::Reason why) const {
  process->count_declined(hook_, why, landing_.capacity(), -1);
  return Start::by_mpi;
}

bool ReceiveRequest::may_truncate_tickets() const {
  return process->behaviour.tells_truncated_length && landing_.capacity() < transport::host_lengths.least_size();
}

int ReceiveRequest::arrive_by_mpi(MPI_Status& status) {
  if (!landing_.parcel && !may_be_announcement(told_bytes(status))) return MPI_SUCCESS;
  auto bytes = received_bytes(status);
  if (const auto code = redeem(landing_, bytes, status, posting_)) return *code;
  if (!landing_.parcel) return MPI_SUCCESS;
  tell_scatters(bytes, sender_);
  return deliver(parcel_, landing_.buffer, bytes);
}

int ReceiveRequest::arrive_by_channel() {
  auto* line = posting_->wait().line;
  int code = MPI_SUCCESS;
  come_ = 0;
  if (!cancelled_) {
    come_ = bytes_of(*line);
    posting_->end_wait();
    code = fetch_from(*line);
  }
  if (inner != MPI_REQUEST_NULL) handle_.end();
  return code;
}

void ReceiveRequest::take_buffer(const ReceiveCall& call) const {
  const EdgeData data{call.buffer, call.count, call.type};
  const device::Looks looks(device::Looks::Span::operations);
  guarded([&] { posting_->wait().line->take({&data, 1}); });  // after an error fetch_from() tells it
}

bool ReceiveRequest::has_come() {
  MPI_Status status;
  if (!delivered && ask(handle_.get(), status) == News::complete) complete(status, false);
  return delivered;
}

}  // namespace dunnage::mpi
