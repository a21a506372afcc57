#include "mpi/ways/receive.hpp"

#include <algorithm>

#include "base/recycled.hpp"
#include "device/looks.hpp"
#include "mpi/lines/in_line.hpp"
#include "mpi/message/attach.hpp"
#include "mpi/message/begun.hpp"
#include "mpi/message/fetch_batch.hpp"
#include "mpi/message/handle.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/message/progress.hpp"
#include "mpi/process/comm_gone.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/registry.hpp"
#include "transport/shm/patience.hpp"

namespace dunnage::mpi {
namespace {

using memory::Landing;
using plan::Operation;
using transport::Arrival;
using transport::Ticket;

/// The announcement in a message of that length. Null if the message is none. Throws what the
/// memory throws.
std::unique_ptr<Arrival> recognise(const Landing& landing, std::int64_t length) {
  const auto any = [](auto&& expects) { return std::any_of(ways().begin(), ways().end(), expects); };
  if (transport::token_length(length) && any([](auto* way) { return way->expects_token(); })) {
    std::uint64_t token = 0;
    landing.read(&token, 0, transport::token_size);
    for (auto* way : ways())
      if (way->expects_token())
        if (auto arrival = way->recognise(token, length)) return arrival;
  }
  if (!transport::ticket_length(length) || !any([&](auto* way) { return way->expects(length); })) return nullptr;
  Ticket ticket;
  landing.read(&ticket, length - static_cast<std::int64_t>(sizeof ticket), length);
  for (auto* way : ways())
    if (auto arrival = way->recognise(ticket, length)) return arrival;
  return nullptr;
}

/// Fetches what an announcement stands for and corrects the status. `bytes`: of the message as it
/// came; then the true size. Returns an MPI error code, or nothing if the message is no
/// announcement. `posting` hears of the message's channel.
std::optional<int> redeem(const Landing& landing, std::int64_t& bytes, MPI_Status& status, Posting* posting) {
  if (!announcements_possible() || bytes > landing.capacity() || !may_be_announcement(bytes)) return std::nullopt;
  std::unique_ptr<Arrival> arrival;
  if (const int code = guarded([&] { arrival = recognise(landing, bytes); }); code != MPI_SUCCESS) return code;
  if (!arrival) return std::nullopt;
  if (const auto stamp = arrival->stamp(); posting && stamp) posting->told(stamp);
  bytes = std::min(arrival->size(), landing.capacity());
  int code = MPI_ERR_TRUNCATE;
  if (arrival->size() > landing.capacity())
    arrival->discard();
  else
    code = arrival->fetch(landing);
  process->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  return code;
}

/// After the MPI has ended a receive with an error: gives back what a truncated ticket announced.
/// `sender`: a rank of MPI_COMM_WORLD, or -1.
void give_back_truncated(int error, std::int64_t length, int sender, int tag) {
  if (error != MPI_ERR_TRUNCATE || sender < 0 || !announcements_possible()) return;
  look_at_short_receives();
  if (!process->behaviour.tells_truncated_length || !transport::ticket_length(length)) return;
  for (auto* way : ways()) way->truncated(static_cast<std::uint32_t>(sender), length, tag);
}

/// Likewise for a call that the MPI has ended with `rc`, which is returned.
int ended_by_mpi(int rc, const MPI_Status& status, MPI_Comm comm) {
  if (rc != MPI_SUCCESS && process->behaviour.tells_truncated_length)
    give_back_truncated(rc, told_bytes(status), world_rank(comm, status.MPI_SOURCE), status.MPI_TAG);
  return rc;
}

/// After a message that came the MPI's way and was unpacked: asks its sender, a rank of
/// MPI_COMM_WORLD, for announcements of contiguous messages too.
void tell_scatters(std::int64_t bytes, int sender) {
  if (bytes < process->model.least_ticket || sender < 0) return;
  if (sender == process->rank)
    process->scatters_to_self = true;
  else if (process->world)
    process->world->peers.tell_scatters(static_cast<std::uint32_t>(sender), true);
}

/// The rank of MPI_COMM_WORLD that such a receive may ask; -1 if none.
int sender_to_ask(std::int64_t bytes, int source, MPI_Comm comm) {
  return announcements_possible() && bytes >= process->model.least_ticket && source >= 0 ? world_rank(comm, source)
                                                                                         : -1;
}

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

/// Whether a call is surely right, so that its message may come without the MPI's check.
bool surely_right(const ReceiveCall& call) {
  const auto* known = known_type(call.type);
  return known && call.count >= 0 && (call.buffer || known->layout().true_lb != 0 || call.count * known->bytes() == 0);
}

/// Begins a posting. Returns whether the receive waits for a channel.
bool waits_for_channel(Posting& posting, const ReceiveCall& call) {
  const Side side(EdgeData{call.buffer, call.count, call.type});
  return posting.begin(surely_right(call) ? &side : nullptr);
}

/// For a receive that a channel counts, or that may hear of one; else null. Only receives into
/// device memory hear of channels, so that others cost less. A receive of nothing may have no
/// buffer, and then no address tells where it is.
std::unique_ptr<Posting> posting_of(const ReceiveCall& call) {
  if (call.apart) return nullptr;
  const bool hears = channels_possible() && call.count > 0 && !surely_host(call.buffer);
  if (!hears && !channel_counts_receive(call.comm, call.source, call.tag)) return nullptr;
  return Posting::on(call.comm, call.source, call.tag);
}

/// The bytes that a message brings which waits on its channel's line.
std::int64_t bytes_of(InLine& line) { return std::min(line.size(), line.buffers().bytes()); }

/// A message that has come by a channel, as a status tells of it.
void tell_status(std::int64_t bytes, int source, int tag, MPI_Status& status) {
  process->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  process->own.Status_set_cancelled(&status, 0);
  status.MPI_SOURCE = source;
  status.MPI_TAG = tag;
}

/// Fetches a message that has come by a channel. What a device fetches goes with the thread's
/// FetchBatch. Returns an MPI error code.
int fetch(InLine& line) {
  int code = MPI_SUCCESS;
  line.take_in_place();
  line.fetch([&](int failed) {
    if (code == MPI_SUCCESS) code = failed;
  });
  return code;
}

/// A receive by the MPI or, if its message is the channel's next one, by a channel.
class ReceiveRequest : public Request, public base::Recycled<ReceiveRequest> {
 public:
  /// `parcel`: empty if the MPI receives into the program's buffer.
  ReceiveRequest(const ReceiveCall& call, memory::Buffer buffer, memory::Parcel parcel,
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
  ~ReceiveRequest() override { drop_parcel(); }
  const memory::Parcel& parcel() const { return parcel_; }
  /// Of a persistent receive into host memory: each start asks who unpacks, we or the MPI.
  void ask_at_starts(plan::ExchangeTrial& trial, const ReceiveCall& call) {
    trial_ = &trial;
    comm_ = call.comm;
    comm_gone_ = CommGone(call.comm);
    sender_ = sender_to_ask(landing_.capacity(), call.source, call.comm);
    hook_ = call.hook;
  }
  bool receives() const override { return true; }
  bool has_no_room_for(std::int64_t bytes) const override { return landing_.buffer && bytes > landing_.capacity(); }
  bool gone(MPI_Request request) override {
    if (request != stand_in_) return false;
    stand_in_ = MPI_REQUEST_NULL;
    return true;
  }
  /// Channels are to hear of it.
  void tell(std::unique_ptr<Posting> posting) {
    posting_ = posting.get();
    tell_end(std::move(posting));
  }

  // Of a receive that waits for a channel:
  /// Makes the handle that stands for it.
  int begin_wait(const ReceiveCall& call, MPI_Request* request) {
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
  /// A receive that has rested serves again. Returns whether it waits for the channel; else its
  /// posting has begun all the same.
  bool begin_again(const ReceiveCall& call, std::shared_ptr<Streams> streams, MPI_Request* request) {
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
  std::unique_ptr<Posting> give_posting() {
    posting_ = nullptr;
    return std::unique_ptr<Posting>(static_cast<Posting*>(end_untold().release()));
  }
  bool rest() override {
    if (!handle_) return false;
    const auto streams = posting_->rest();
    auto* channel = posting_->channel_in(*streams);
    return channel && channel->resting.put(this);
  }
  bool several() const override { return waits_; }
  bool stands_alone() const override { return !persistent && handle_; }
  void prefetch() const override {
    if (waits_) posting_->prefetch();
  }
  bool go_on() override {
    if (!has_come()) return false;
    handle_.end();
    return true;
  }
  bool go_on_alone() override { return persistent ? go_on() : has_come(); }
  void finish() override {
    finish_alone();
    handle_.end();
  }
  void finish_alone() override {
    if (delivered) return;
    FetchBatch batch;
    unsigned rounds = 0;
    for (transport::shm::Patience patience; !has_come(); patience.wait()) {
      progress_receives();
      if (++rounds % polls_between == 0) let_mpi_progress();
    }
    for (const auto& failure : batch.finish()) failed_later(failure.code);
  }
  News ask(MPI_Request handle, MPI_Status& status) override {
    if (!waits_) return Request::ask(handle, status);
    return cancelled_ || posting_->has_come() ? News::complete : News::none;
  }
  void show() override {
    if (!waits_) return;
    if (persistent && inner == MPI_REQUEST_NULL) {
      if (handle_.take() != MPI_SUCCESS) return finish();
      inner = handle_.get();
    }
    if (delivered) handle_.end();
  }
  bool cancel() override {
    // Its message has been sent. Later receives count on it.
    if (!waits_ && posting_ && posting_->message_sent()) return true;
    if (!waits_) {
      if (inner == MPI_REQUEST_NULL) return false;
      process->own.Cancel(&inner);
      return true;
    }
    if (!delivered) cancelled_ = cancelled_ || posting_->take_back();
    return true;
  }

 protected:
  Start begin(int& code) override {
    waits_ = cancelled_ = false;
    if (!posting_) return begin_by_mpi(code);
    if (keeper_ == 0) keeper_ = next_keeper();
    const Side side(keeper_);
    if (!posting_->begin(landing_.buffer ? &side : nullptr)) return begin_by_mpi(code);
    guarded([&] { posting_->wait().line->take(landing_.buffer, keeper_); });
    waits_ = true;
    return Start::done;
  }
  int arrive(MPI_Status& status) override {
    if (!waits_) return arrive_by_mpi(status);
    auto* line = posting_->wait().line;
    int code = MPI_SUCCESS;
    come_ = 0;
    if (!cancelled_) {
      come_ = bytes_of(*line);
      posting_->end_wait();
      code = fetch(*line);
    }
    if (inner != MPI_REQUEST_NULL) handle_.end();
    return code;
  }
  bool tells_later() const override { return waits_; }
  void tell(MPI_Status& status) const override {
    tell_status(come_, source_, tag_, status);
    if (cancelled_) process->own.Status_set_cancelled(&status, 1);
  }
  void lost(int error, const MPI_Status& status) override {
    if (waits_ || !may_truncate_tickets()) return;
    give_back_truncated(error, told_bytes(status), of_world_ ? status.MPI_SOURCE : of_ticket_, status.MPI_TAG);
  }

 private:
  /// Into the program's buffer by the MPI's request, if it is the MPI's turn. Else a persistent
  /// receive of our own stands behind the program's request. It must be persistent: some MPIs raise
  /// the errors of such receives on another communicator than those of nonblocking ones.
  Start begin_by_mpi(int& code) {
    if (!trial_) return Start::by_mpi;
    landing_.parcel = nullptr;
    if (comm_gone_()) return Start::by_mpi;
    MessageTurn turn(*trial_);
    if (turn.may_differ(*trial_)) turn.agree(*trial_, {source_, comm_, landing_.capacity()});
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
    if (code == MPI_SUCCESS) code = process->own.Start(&stand_in_);
    if (code == MPI_SUCCESS) inner = stand_in_;
    return Start::done;
  }
  int make_stand_in() {
    const Shown shown(parcel_);
    return process->own.Recv_init(shown.data(), static_cast<int>(shown.count()), shown.type(), source_, tag_, comm_,
                                  &stand_in_);
  }
  /// The stand-in is not active.
  void drop_parcel() {
    if (stand_in_ != MPI_REQUEST_NULL) process->own.Request_free(&stand_in_);
    parcel_ = {};
  }
  Start left_to_mpi(plan::Reason why) const {
    process->count_declined(hook_, why, landing_.capacity(), -1);
    return Start::by_mpi;
  }
  /// Whether the MPI tells of tickets for which there is no room.
  bool may_truncate_tickets() const {
    return process->behaviour.tells_truncated_length && landing_.capacity() < transport::host_lengths.least_size();
  }
  int arrive_by_mpi(MPI_Status& status) {
    if (!landing_.parcel && !may_be_announcement(told_bytes(status))) return MPI_SUCCESS;
    auto bytes = received_bytes(status);
    if (const auto code = redeem(landing_, bytes, status, posting_)) return *code;
    if (!landing_.parcel) return MPI_SUCCESS;
    tell_scatters(bytes, sender_);
    return deliver(parcel_, landing_.buffer, bytes);
  }

  const int source_, tag_;
  Posting* posting_ = nullptr;  // null if channels do not matter
  memory::Parcel parcel_;
  int sender_;  // to be asked for announcements; the communicator may be gone by then
  Landing landing_;
  // Of a persistent receive of which each start asks who unpacks; else `trial_` is null:
  plan::ExchangeTrial* trial_ = nullptr;
  MPI_Comm comm_ = MPI_COMM_NULL;
  CommGone comm_gone_;
  Hook hook_{};
  MPI_Request stand_in_ = MPI_REQUEST_NULL;  // receives into the parcel
  const bool of_world_;                      // on MPI_COMM_WORLD
  const int of_ticket_;                      // the rank there whose tickets may be truncated; -1 if not known
  std::uint64_t keeper_ = 0;                 // of the buffer, from the first start by a channel on
  // Of a receive that waits for a channel:
  void take_buffer(const ReceiveCall& call) const {
    const EdgeData data{call.buffer, call.count, call.type};
    const device::Looks looks(device::Looks::Span::operations);
    guarded([&] { posting_->wait().line->take({&data, 1}); });  // after an error fetch() tells it
  }
  bool has_come() {
    MPI_Status status;
    if (!delivered && ask(handle_.get(), status) == News::complete) complete(status, false);
    return delivered;
  }
  KeptHandle handle_;
  std::int64_t come_ = 0;  // bytes
  bool waits_ = false;
  bool cancelled_ = false;
};
}  // namespace

int settle_in_place(void* user, std::int64_t count, MPI_Datatype type, MPI_Status& status, MPI_Comm comm,
                    Posting* posting) try {
  auto bytes = received_bytes(status);
  if (!may_be_announcement(bytes)) return MPI_SUCCESS;
  return raise_ended(comm, redeem({buffer_of(user, count, type)}, bytes, status, posting).value_or(MPI_SUCCESS));
} catch (const std::exception&) {
  return raise(comm, MPI_ERR_NO_MEM);
}

int settle_staged(const memory::Parcel& parcel, const memory::Buffer& buffer, MPI_Status& status, MPI_Comm comm,
                  Posting* posting) {
  auto bytes = received_bytes(status);
  if (const auto code = redeem({buffer, &parcel}, bytes, status, posting)) return raise_ended(comm, *code);
  tell_scatters(bytes, sender_to_ask(bytes, status.MPI_SOURCE, comm));
  return raise_ended(comm, deliver(parcel, buffer, bytes));
}

namespace {

/// A blocking receive that waits for a channel.
int receive_by_channel(const ReceiveCall& call, Posting& posting, MPI_Status* users) {
  auto& line = *posting.wait().line;
  const EdgeData data{call.buffer, call.count, call.type};
  guarded([&] { line.take({&data, 1}); });  // after an error fetch() tells it
  unsigned rounds = 0;
  for (transport::shm::Patience patience; !posting.has_come(); patience.wait()) {
    progress_receives();
    if (++rounds % polls_between == 0) let_mpi_progress();
  }
  posting.end_wait();
  if (users != MPI_STATUS_IGNORE) tell_status(bytes_of(line), call.source, call.tag, *users);
  const Accelerated counted(call.hook, line.size());
  FetchBatch batch;
  int code = fetch(line);
  for (const auto& failure : batch.finish())
    if (code == MPI_SUCCESS) code = failure.code;
  return raise_ended(call.comm, code);
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

/// A receive that was complete, and serves again, if it waits for the channel. Else `posting` has
/// begun, if there was such a receive.
bool begin_again(const ReceiveCall& call, MPI_Request* request, std::unique_ptr<Posting>& posting) {
  if (!channels_in_use() || call.apart) return false;
  auto streams = Streams::of(call.comm, false);
  auto* channel = streams ? streams->from(call.source, call.tag) : nullptr;
  auto rested = channel ? channel->resting.take() : nullptr;
  if (!rested) return false;
  auto* receive = static_cast<ReceiveRequest*>(rested.get());
  if (receive->begin_again(call, std::move(streams), request)) return (void)rested.release(), true;
  posting = receive->give_posting();
  process->requests.erase(receive->key);
  return false;
}

}  // namespace

namespace {

/// A receive into host memory that is left to the MPI, and whose message may be an announcement.
class WatchedReceive : public Request, public base::Recycled<WatchedReceive> {
 public:
  WatchedReceive(const ReceiveCall& call, memory::Buffer buffer)
      : Request(errors_of_comm(call.comm)), buffer_(std::move(buffer)) {
    status_only = true;
  }
  bool receives() const override { return true; }
  bool has_no_room_for(std::int64_t bytes) const override { return bytes > buffer_.size(); }

 protected:
  int arrive(MPI_Status& status) override {
    if (!may_be_announcement(told_bytes(status))) return MPI_SUCCESS;
    auto bytes = received_bytes(status);
    return redeem({buffer_}, bytes, status, nullptr).value_or(MPI_SUCCESS);
  }

 private:
  const memory::Buffer buffer_;
};

/// What a nonblocking receive needs if the MPI is to do it, and its message may be an announcement.
/// Null if more is to do. This is the short way: programs that gain nothing by Dunnage shall not
/// lose.
std::unique_ptr<Request> watch_only(const ReceiveCall& call) {
  if (process->attention.load(std::memory_order_relaxed) || process->exchanges.open()) return nullptr;
  if (call.apart || call.source == MPI_PROC_NULL || !surely_host(call.buffer)) return nullptr;
  const auto* known = known_type(call.type);
  std::int64_t bytes = 0;
  if (!known || __builtin_mul_overflow(call.count, known->bytes(), &bytes) ||
      bytes < transport::host_lengths.least_size() || channel_counts_receive(call.comm, call.source, call.tag))
    return nullptr;
  if (known->reason() == plan::Reason::contiguous)
    return std::make_unique<WatchedReceive>(call, memory::Buffer::contiguous(call.buffer, bytes));
  const auto* variant = known->find(call.count);
  if (!variant) return nullptr;
  auto* trial = trial_of(call.hook, Operation::receive, *variant);
  const bool left =
      trial ? trial->leaves_to_library()
            : gains_too_little(call.hook, Operation::receive, *variant) || variant->declines(Operation::receive);
  return left ? std::make_unique<WatchedReceive>(call, memory::Buffer(variant->program, call.buffer)) : nullptr;
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
  std::unique_ptr<Posting> begun;
  if (!persistent && begin_again(call, request, begun)) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count));
    return MPI_SUCCESS;
  }
  // A persistent receive tells channels at each start. Without a driver there will be no channels.
  const bool has_begun = begun != nullptr;
  const bool tells = persistent && !call.apart && channels_allowed() && !device::surely_no_driver();
  auto posting = has_begun ? std::move(begun)
                 : tells   ? Posting::on(call.comm, call.source, call.tag)
                           : posting_of(call);
  if (!persistent && posting && !has_begun && waits_for_channel(*posting, call)) {
    const Accelerated counted(call.hook, reported_bytes(call.type, call.count));
    auto operation = std::make_unique<ReceiveRequest>(call, memory::Buffer(), memory::Parcel(), std::move(posting));
    if (const int code = operation->begin_wait(call, request); code != MPI_SUCCESS) return raise(call.comm, code);
    attach(*request, std::move(operation));
    return MPI_SUCCESS;
  }
  if (persistent)
    if (auto* trial = trial_at_starts(call.hook, Operation::receive, call.buffer, call.count, call.type, call.source))
      if (auto accepted = accept_receive(call, MessageTurn(plan::Packer::cached))) {
        const int rc = begin(call.buffer, call.count, call.type);
        if (!mpi_began(rc, request)) return rc;
        auto operation = std::make_unique<ReceiveRequest>(call, accepted.buffer, memory::Parcel(), std::move(posting));
        operation->persistent = true;
        operation->ask_at_starts(*trial, call);
        attach(*request, std::move(operation));
        return rc;
      }
  auto turn = turn_of(call);
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
    const bool unseen = !watched && persistent && !call.apart && call.source != MPI_PROC_NULL;
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
  if (mpi_began(rc, request))
    attach(*request, std::move(operation));
  else if (told && !persistent)
    told->not_begun();
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

std::unique_ptr<Posting> posting_of(int source, int tag, MPI_Comm comm) {
  auto posting = posting_of({{}, nullptr, 0, MPI_BYTE, source, tag, comm, 0});
  if (posting) posting->begin(nullptr);
  return posting;
}

std::unique_ptr<Request> watch_receive(const ReceiveCall& call, std::unique_ptr<Posting> posting) try {
  const auto may_be_announced = [&] {
    if (!announcements_possible() || call.source == MPI_PROC_NULL || call.count <= 0) return false;
    if (call.type == MPI_DATATYPE_NULL) return false;
    const auto* known = known_type(call.type);
    MPI_Count size = known ? known->bytes() : 0;
    if (size == 0 && process->own.Type_size_x(call.type, &size) != MPI_SUCCESS) return false;
    std::int64_t bytes = 0;
    return __builtin_mul_overflow(call.count, static_cast<std::int64_t>(size), &bytes) || tickets_concern(bytes);
  };
  const bool announced = may_be_announced();
  if (!announced && !posting) return nullptr;
  auto buffer =
      announced || (posting && surely_right(call)) ? buffer_of(call.buffer, call.count, call.type) : memory::Buffer();
  return std::make_unique<ReceiveRequest>(call, std::move(buffer), memory::Parcel(), std::move(posting));
} catch (const std::exception&) {
  return nullptr;  // without memory nothing can be done if an announcement comes
}

int watch(int rc, MPI_Request* request, std::unique_ptr<Request> watched) {
  if (watched && mpi_began(rc, request))
    attach(*request, std::move(watched));
  else
    forget_request(rc, request);
  return rc;
}

void correct_probe(MPI_Comm comm, MPI_Status* status) {
  if (!announcements_possible() || status == MPI_STATUS_IGNORE) return;
  const auto bytes = probed_bytes(*status);
  if (!transport::ticket_length(bytes)) return;
  const auto sender = world_rank(comm, status->MPI_SOURCE);
  if (sender < 0) return;
  for (auto* way : ways())
    if (const auto size = way->size_of(static_cast<std::uint32_t>(sender), bytes, status->MPI_TAG)) {
      process->own.Status_set_elements_x(status, MPI_BYTE, *size);
      return;
    }
}

}  // namespace dunnage::mpi
