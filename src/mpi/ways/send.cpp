#include "mpi/ways/send.hpp"

#include <algorithm>
#include <utility>

#include "base/recycled.hpp"
#include "device/looks.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/message/stage.hpp"
#include "mpi/message/unfinished.hpp"
#include "mpi/process/comm_gone.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/ways/by_channel.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {
namespace {

using plan::Operation;
using plan::Reason;
using transport::Outbound;
using transport::Sending;

enum class Mode { standard, synchronous, buffered };

constexpr Mode mode_of(Hook hook) {
  switch (hook) {
    case Hook::MPI_Ssend:
    case Hook::MPI_Ssend_c:
    case Hook::MPI_Issend:
    case Hook::MPI_Issend_c:
    case Hook::MPI_Ssend_init:
    case Hook::MPI_Ssend_init_c: return Mode::synchronous;
    default: return operation_of(hook) == Operation::buffered_send ? Mode::buffered : Mode::standard;
  }
}

/// An ordinary message of so many bytes goes to that rank of MPI_COMM_WORLD.
void avoid(std::uint32_t receiver, std::int64_t bytes) {
  if (!transport::ticket_length(bytes)) return;
  for (auto* way : ways()) way->avoid(receiver, bytes);
}

/// A message from device memory to that rank of MPI_COMM_WORLD.
Outbound from_device(const SendCall& call, std::uint32_t receiver, std::int64_t bytes, memory::Buffer buffer) {
  Outbound message{{}, receiver, call.tag, bytes};
  message.contiguous = contiguous_on_gpu(buffer);
  message.buffer = std::move(buffer);
  if (static_cast<int>(receiver) != process->rank) message.gpu_way = gpu_way_to(message.buffer, receiver);
  return message;
}

/// When a persistent request is made, its receiver may not have told yet what it can read.
void ask_again(Outbound& message) {
  answer_letters();
  if (static_cast<int>(message.receiver) != process->rank)
    message.gpu_way = gpu_way_to(message.buffer, message.receiver);
}

/// The message as the ways see it. Nothing if it is none for them: too short, to nobody or to
/// another world, or packed by the MPI's own rules. `stamp`: of its channel; null if the message is
/// not about to be sent.
std::optional<Outbound> outbound(const SendCall& call, const transport::ChannelStamp* stamp = nullptr) try {
  if (!announcements_possible() || call.dest < 0 || call.count <= 0) return std::nullopt;
  const auto* known = known_type(call.type);
  if (!known || known->bytes() == 0) {
    avoid_length(call.count, call.type, call.dest, call.comm);
    return std::nullopt;
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(call.count, known->bytes(), &bytes) || !tickets_concern(bytes)) return std::nullopt;
  answer_letters();
  const auto rank = world_rank(call.comm, call.dest);
  if (rank < 0) return std::nullopt;
  const auto receiver = static_cast<std::uint32_t>(rank);
  if (!surely_host(call.buffer))
    if (auto data = on_gpu(call.buffer, call.count, call.type, known)) {
      auto message = from_device(call, receiver, bytes, std::move(*data));
      if (stamp) message.stamp = *stamp;
      if (stamp && !call.apart && channels_possible())
        learn(Streams::of(call.comm, true), call.dest, call.tag, message);
      return message;
    }
  Outbound message{{}, receiver, call.tag, bytes};
  const bool contiguous = known->reason() == Reason::contiguous;
  const bool possible = (contiguous || known->reason() == Reason::accelerated) &&
                        bytes >= transport::host_lengths.least_size() &&
                        (call.buffer || known->layout().true_lb != 0) &&
                        !on_device(static_cast<const char*>(call.buffer) + known->layout().data.offset) &&
                        (!known->mixed() || process->model.trusted_mixed) && !transport::ticket_length(bytes);
  if (!possible) {
    avoid(receiver, bytes);
    return std::nullopt;
  }
  const auto describe = [&](const Variant& variant) {
    message.pays = variant.ticket;
    message.buffer =
        contiguous ? memory::Buffer::contiguous(call.buffer, bytes) : memory::Buffer(variant.program, call.buffer);
  };
  message.contiguous = contiguous;
  const auto* variant = known->find(call.count);
  variant ? describe(*variant) : describe(known->plan(call.count));
  return message;
} catch (const std::exception&) {
  return std::nullopt;
}

bool taken(const Outbound& message) {
  return std::any_of(ways().begin(), ways().end(), [&](auto* way) { return way->takes(message); });
}

std::unique_ptr<Sending> begin_way(const Outbound& message) try {
  for (auto* way : ways())
    if (way->takes(message)) return way->begin(message);
  return nullptr;
} catch (const std::exception&) {
  return nullptr;
}

/// Begins to send by the first way that takes the message. Null if no way does.
std::unique_ptr<Sending> announce(Hook hook, const Outbound& message) {
  auto sending = begin_way(message);
  if (!sending) {
    avoid(message.receiver, message.bytes);
    return nullptr;
  }
  if (const auto counted = sending->gpu_way(); counted != plan::GpuWay::none) process->count(hook, counted);
  return sending;
}

/// The reason for the report why data in device memory were not announced.
plan::GpuWay staged_way(const SendCall& call, const std::optional<Outbound>& message, const Accepted& accepted) {
  if (mode_of(call.hook) == Mode::buffered) return plan::GpuWay::staged_mode;
  if (accepted.passed && accepted.buffer.device()) return plan::passed_way(process->model.gpu, accepted.bytes(), false);
  if (!message) return plan::GpuWay::staged_alone;
  const auto way = message->gpu_way == plan::GpuWay::none ? plan::GpuWay::staged_full : message->gpu_way;
  return way == plan::GpuWay::direct || by_rings(way) ? plan::GpuWay::staged_full : way;
}

/// A message for staging memory: packed by us, carried by the MPI.
struct Staged {
  Accepted accepted;
  memory::Parcel parcel;
};

MessageTurn turn_of(const SendCall& call) {
  return turn_of(call.hook, operation_of(call.hook), call.buffer, call.count, call.type, call.dest, call.comm);
}

/// The message as the ways see it, if one of them may have it.
std::optional<Outbound> outbound(const SendCall& call, const MessageTurn& turn, const transport::ChannelStamp& stamp) {
  if (mode_of(call.hook) != Mode::buffered && !turn.is_librarys()) return outbound(call, &stamp);
  avoid_length(call.count, call.type, call.dest, call.comm);
  return std::nullopt;
}

/// False if sends that have not ended have too much data in staging memory, or if the data are in
/// device memory.
memory::Budget::Part part_of_staging(const memory::Buffer& buffer) {
  if (buffer.packer()) return {};
  return process->staged_sends.take(static_cast<std::uint64_t>(buffer.size()), process->settings.staging_memory);
}

/// A parcel for data that we pack for a send. If it is empty, `why` tells the reason.
memory::Parcel parcel_of(Hook hook, const memory::Buffer& buffer, bool in_device, Reason& why) {
  why = Reason::too_much_waits;
  auto part = part_of_staging(buffer);
  if (!part && !buffer.packer()) return {};
  why = Reason::no_memory;
  auto parcel = parcel_for(buffer, operation_of(hook), buffer.size(), false, in_device);
  if (parcel) parcel.staging.count_as(std::move(part));
  return parcel;
}

/// Empty if the MPI is to be given the program's buffer, or if `accepted.error` tells why not.
Staged stage(const SendCall& call, MessageTurn& turn, const std::optional<Outbound>& message) {
  const auto operation = operation_of(call.hook);
  Staged staged{
      accept_message(call.hook, operation, turn, call.buffer, call.count, call.type, call.most, call.dest, call.comm),
      {}};
  auto& accepted = staged.accepted;
  if (!accepted) {
    if (turn.is_ours()) turn.give_up();
    return staged;
  }
  if (process->reporting && accepted.buffer.packer()) process->count(call.hook, staged_way(call, message, accepted));
  const bool in_device = accepted.passed && operation != Operation::buffered_send;  // the host copies buffered sends
  Reason why;
  staged.parcel = parcel_of(call.hook, accepted.buffer, in_device, why);
  if (staged.parcel) return staged;
  process->count(call.hook, why);
  if (accepted.buffer.device()) accepted.error = MPI_ERR_NO_MEM;
  accepted.buffer = {};
  turn.give_up();
  return staged;
}

/// A persistent send: one parcel for all starts, or a trial that each start asks.
struct StagedPersistent {
  Accepted accepted;
  memory::Parcel parcel;
  plan::ExchangeTrial* trial = nullptr;
};

StagedPersistent stage_persistent(const SendCall& call, const std::optional<Outbound>& message) {
  const auto operation = operation_of(call.hook);
  if (auto* trial = trial_at_starts(call.hook, operation, call.buffer, call.count, call.type, call.dest)) {
    auto accepted = accept_message(call.hook, operation, MessageTurn(plan::Packer::cached), call.buffer, call.count,
                                   call.type, call.most, call.dest, call.comm);
    return {accepted, {}, accepted ? trial : nullptr};
  }
  MessageTurn by_model;
  auto [accepted, parcel] = stage(call, by_model, message);
  return {std::move(accepted), std::move(parcel)};
}

/// The announcement as a message of the MPI's, begun.
int start_send(const Sending& sending, const SendCall& call, bool blocking, MPI_Request* request) {
  const Shown shown(sending.parcel());
  const auto& own = process->own;
  const auto begin = sending.synchronous(blocking) || mode_of(call.hook) == Mode::synchronous ? own.Issend : own.Isend;
  return begin(shown.data(), static_cast<int>(shown.count()), shown.type(), call.dest, call.tag, call.comm, request);
}

/// Whether the MPI has completed a request, or cannot tell. Lets the MPI move it.
bool ended(MPI_Request request) {
  int done = 0;
  MPI_Status status;
  return process->own.Request_get_status(request, &done, &status) != MPI_SUCCESS || done;
}

/// Lets the MPI move a request while it is under way.
class Travels {
 public:
  explicit Travels(MPI_Request request) : request_(request) {}
  void operator()() {
    if (travels_) travels_ = !ended(request_);
  }

 private:
  const MPI_Request request_;
  bool travels_ = true;
};

/// A nonblocking send that goes by a channel.
class ChannelSend : public Request, public base::Recycled<ChannelSend> {
 public:
  ChannelSend(const SendCall& call, ByChannel by) : Request(errors_of_comm(call.comm)), by_(std::move(by)) {}
  /// Makes the handle that stands for it. Returns an MPI error code.
  int take_handle(MPI_Request* request) {
    const int code = handle_.take();
    if (code != MPI_SUCCESS) return code;
    stays = true;
    *request = handle_.get();
    return MPI_SUCCESS;
  }
  /// A send that has rested serves again.
  void begin_again(ByChannel by, MPI_Request* request) {
    by_ = std::move(by);
    ended_ = false;
    started();
    *request = handle_.get();
  }
  bool rest() override {
    if (!handle_) return false;
    const auto streams = std::move(by_.streams);
    return by_.channel->resting.put(this);
  }
  bool several() const override { return true; }
  void prefetch() const override { by_.line->prefetch(); }
  bool go_on() override {
    if (go_on_alone()) handle_.end();
    return ended_;
  }
  bool go_on_alone() override { return ended_ = ended_ || by_.ended(); }
  void finish() override {
    finish_alone();
    handle_.end();
  }
  bool stands_alone() const override { return static_cast<bool>(handle_); }
  void finish_alone() override {
    if (!ended_) by_.wait();
    ended_ = true;
  }
  bool cancel() override { return true; }  // its receive has begun, so it succeeds

 private:
  ByChannel by_;
  KeptHandle handle_;
  bool ended_ = false;
};

/// A send whose announcement, or whose packed data, the MPI carries.
class SendRequest : public Request, public base::Recycled<SendRequest> {
 public:
  SendRequest(const SendCall& call, std::unique_ptr<Sending> sending)
      : Request(errors_of_comm(call.comm)), call_(call), sending_(std::move(sending)) {}
  SendRequest(const SendCall& call, memory::Buffer buffer, memory::Parcel parcel, std::optional<Outbound> message)
      : Request(errors_of_comm(call.comm)),
        call_(call),
        message_(std::move(message)),
        buffer_(std::move(buffer)),
        parcel_(std::move(parcel)) {}
  /// Of a persistent send, whose communicator may be freed before the request.
  void watch_comm() { comm_gone_ = CommGone(call_.comm); }
  /// Of a persistent send of host memory: each start asks who packs, we or the MPI.
  void ask_at_starts(plan::ExchangeTrial* trial) { trial_ = trial; }
  /// Of a persistent send: channels are to know of it.
  void tell(std::shared_ptr<Streams> streams) { streams_ = std::move(streams); }

  bool several() const override { return by_.has_value(); }
  void prefetch() const override {
    if (by_) by_->line->prefetch();
  }
  bool go_on() override {
    if (!ended_ && by_->ended()) {
      ended_ = true;
      if (inner != MPI_REQUEST_NULL) end_handle(handle_);
    }
    return ended_;
  }
  void finish() override {
    if (!ended_) by_->wait();
    go_on();
  }
  void show() override {
    if (!by_ || inner != MPI_REQUEST_NULL) return;
    if (new_handle(&handle_) != MPI_SUCCESS) return finish();
    inner = handle_;
    if (ended_) end_handle(handle_);
  }
  bool cancel() override {
    if (by_) return true;  // its receive has begun, so it succeeds
    if (inner != MPI_REQUEST_NULL && !sending_) process->own.Cancel(&inner);
    return Request::cancel();
  }

  bool waits_for_receiver() const override { return sending_ && sending_->holds_buffer(); }

  bool better_later() const override {
    const auto* channel = streams_ && call_.dest >= 0 ? streams_->use_to(call_.dest, call_.tag) : nullptr;
    return channel && channel->early();
  }

 protected:
  Start begin(int& code) override {
    by_.reset();
    transport::ChannelStamp stamp;
    if (streams_ && call_.dest >= 0)
      by_ = by_channel(streams_, call_.dest, call_.tag, stamp, [&](auto& line) {
        return mode_of(call_.hook) == Mode::buffered ? MPI_ERR_OTHER : take_buffer(line);  // copies are announced later
      });
    if (by_) return begin_by_channel(code);
    if (trial_) return begin_by_turn(code);
    if (message_ && !comm_gone_()) {
      message_->stamp = stamp;
      if (message_->buffer.device()) ask_again(*message_);
      if (channels_possible()) learn(streams_, call_.dest, call_.tag, *message_);
      if (auto sending = announce(call_.hook, *message_)) return begin_announced(std::move(sending), code);
    }
    if (parcel_) code = gather(parcel_, buffer_);
    return code == MPI_SUCCESS ? Start::by_mpi : Start::failed;
  }
  int arrive(MPI_Status& status) override {
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

 private:
  /// A persistent send that the MPI's request does with the program's buffer, if it is the MPI's
  /// turn. Else a nonblocking send of our own stands behind the program's request.
  Start begin_by_turn(int& code) {
    if (comm_gone_()) return Start::by_mpi;
    MessageTurn turn(*trial_);
    if (turn.may_differ(*trial_)) turn.agree(*trial_, {call_.dest, call_.comm, buffer_.size()});
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
    code =
        begin(shown.data(), static_cast<int>(shown.count()), shown.type(), call_.dest, call_.tag, call_.comm, &begun);
    if (code == MPI_SUCCESS) inner = begun;
    return Start::done;
  }
  Start left_to_mpi(Reason why) {
    if (process->reporting)
      process->count_declined(call_.hook, why, buffer_.size(), counted_peer(call_.comm, call_.dest));
    return Start::by_mpi;
  }
  int take_buffer(OutLine& line) {
    if (keeper_ == 0) keeper_ = next_keeper();
    return line.take(message_ ? message_->buffer : buffer_, keeper_);
  }
  Start begin_by_channel(int& code) {
    const Accelerated counted(call_.hook, buffer_.size(), false, counted_peer(call_.comm, call_.dest));
    if (!by_->rung) take_buffer(*by_->line);
    code = by_->announce(call_.hook);
    if (code != MPI_SUCCESS) {
      by_->wait();
      by_.reset();
      return Start::failed;
    }
    ended_ = false;
    return Start::done;
  }
  /// Of a persistent send: a nonblocking send of our own stands behind the program's request.
  Start begin_announced(std::unique_ptr<Sending> sending, int& code) {
    const Accelerated counted(call_.hook, sending->bytes(), true, counted_peer(call_.comm, call_.dest));
    MPI_Request begun = MPI_REQUEST_NULL;
    code = start_send(*sending, call_, false, &begun);
    if (code != MPI_SUCCESS) return Start::done;  // the MPI has called the error handler
    moved_ = sending->move(true, Travels(begun));
    sending_ = std::move(sending);
    inner = begun;
    return Start::done;
  }

  const SendCall call_;
  std::optional<Outbound> message_;  // of a persistent send that may be announced
  const memory::Buffer buffer_;
  memory::Parcel parcel_;
  plan::ExchangeTrial* trial_ = nullptr;
  CommGone comm_gone_;
  std::unique_ptr<Sending> sending_;
  int moved_ = MPI_SUCCESS;
  std::shared_ptr<Streams> streams_;  // of a persistent send, if channels are allowed
  std::uint64_t keeper_ = 0;          // of the buffer, from the first start by a channel on
  std::optional<ByChannel> by_;       // how it goes since it was started last
  MPI_Request handle_ = MPI_REQUEST_NULL;
  bool ended_ = false;
};

}  // namespace

void avoid_length(std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm) {
  if (!announcements_possible() || dest < 0 || count <= 0 || type == MPI_DATATYPE_NULL) return;
  const auto* known = known_type(type);
  MPI_Count size = known ? known->bytes() : 0;
  std::int64_t bytes = 0;
  if (size == 0 && process->own.Type_size_x(type, &size) != MPI_SUCCESS) return;
  if (__builtin_mul_overflow(count, static_cast<std::int64_t>(size), &bytes) || !transport::ticket_length(bytes))
    return;
  if (const auto rank = world_rank(comm, dest); rank >= 0) avoid(static_cast<std::uint32_t>(rank), bytes);
}

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
  if (auto by = by_channel(call, stamp, refused, device::Looks::Span::operations)) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count), false,
                              counted_peer(call.comm, call.dest));
    int code = by->announce(call);
    if (code == MPI_SUCCESS)
      if (auto rested = by->channel->resting.take()) {
        static_cast<ChannelSend*>(rested.release())->begin_again(std::move(*by), request);
        return MPI_SUCCESS;
      }
    auto operation = std::make_unique<ChannelSend>(call, *by);
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
  auto turn = turn_of(call);
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
    if (sending->finishes_alone() && ended(*request)) {
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
