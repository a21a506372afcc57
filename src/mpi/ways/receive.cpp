#include "mpi/ways/receive.hpp"

#include <algorithm>

#include "mpi/message/attach.hpp"
#include "mpi/message/orphans.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/registry.hpp"

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
/// announcement.
std::optional<int> redeem(const Landing& landing, std::int64_t& bytes, MPI_Status& status) {
  if (!announcements_possible() || bytes > landing.capacity() || !may_be_announcement(bytes)) return std::nullopt;
  std::unique_ptr<Arrival> arrival;
  if (const int code = guarded([&] { arrival = recognise(landing, bytes); }); code != MPI_SUCCESS) return code;
  if (!arrival) return std::nullopt;
  bytes = std::min(arrival->size(), landing.capacity());
  int code = MPI_ERR_TRUNCATE;
  if (arrival->size() > landing.capacity())
    arrival->discard();
  else
    code = arrival->fetch(landing);
  process->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  return code;
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

Accepted accept_receive(const ReceiveCall& call) {
  return accept_message(call.hook, Operation::receive, call.buffer, call.count, call.type, call.most, call.source,
                        call.comm);
}

/// The parcel of an accepted receive. Clears `accepted`, and counts, if there is no memory.
memory::Parcel stage(const ReceiveCall& call, Accepted& accepted) {
  if (!accepted) return {};
  auto parcel = parcel_for(accepted.buffer, Operation::receive, accepted.bytes(), false, accepted.passed);
  if (parcel) return parcel;
  process->count(call.hook, plan::Reason::no_memory);
  if (accepted.buffer.device()) accepted.error = MPI_ERR_NO_MEM;
  accepted.buffer = {};
  return {};
}

/// Into the program's buffer.
class InPlaceReceive : public Request {
 public:
  InPlaceReceive(memory::Buffer buffer, ErrorsOf errors) : Request(errors), landing_{std::move(buffer)} {}
  bool receives() const override { return true; }

 protected:
  int arrive(MPI_Status& status) override {
    if (!may_be_announcement(told_bytes(status))) return MPI_SUCCESS;
    auto bytes = received_bytes(status);
    return redeem(landing_, bytes, status).value_or(MPI_SUCCESS);
  }

 private:
  const Landing landing_;
};

/// Into a parcel.
class StagedReceive : public Request {
 public:
  StagedReceive(memory::Buffer buffer, memory::Parcel parcel, int sender, ErrorsOf errors)
      : Request(errors), parcel_(std::move(parcel)), landing_{std::move(buffer), &parcel_}, sender_(sender) {}
  const memory::Parcel& parcel() const { return parcel_; }
  bool receives() const override { return true; }

 protected:
  int arrive(MPI_Status& status) override {
    auto bytes = received_bytes(status);
    if (const auto code = redeem(landing_, bytes, status)) return *code;
    tell_scatters(bytes, sender_);
    return deliver(parcel_, landing_.buffer, bytes);
  }

 private:
  const memory::Parcel parcel_;
  const Landing landing_;
  const int sender_;  // to be asked for announcements; the communicator may be gone by then
};

}  // namespace

int settle_in_place(void* user, std::int64_t count, MPI_Datatype type, MPI_Status& status, MPI_Comm comm) try {
  auto bytes = received_bytes(status);
  if (!may_be_announcement(bytes)) return MPI_SUCCESS;
  return raise_failure(comm, redeem({buffer_of(user, count, type)}, bytes, status).value_or(MPI_SUCCESS));
} catch (const std::exception&) {
  return raise(comm, MPI_ERR_NO_MEM);
}

int settle_staged(const memory::Parcel& parcel, const memory::Buffer& buffer, MPI_Status& status, MPI_Comm comm) {
  auto bytes = received_bytes(status);
  if (const auto code = redeem({buffer, &parcel}, bytes, status)) return raise_failure(comm, *code);
  tell_scatters(bytes, sender_to_ask(bytes, status.MPI_SOURCE, comm));
  return raise_failure(comm, deliver(parcel, buffer, bytes));
}

int receive(const ReceiveCall& call, MPI_Status* users, Take take) {
  if (meets_announcements_only(call)) {
    see_host_message();
    answer_letters();
    StatusOr status(users);
    const int rc = take(call.buffer, call.count, call.type, status.get());
    if (rc != MPI_SUCCESS || !may_be_announcement(told_bytes(*status)) || call.source == MPI_PROC_NULL) return rc;
    return settle_in_place(call.buffer, call.count, call.type, *status.get(), call.comm);
  }
  progress_orphans();
  answer_letters();
  auto accepted = accept_receive(call);
  const auto parcel = stage(call, accepted);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  StatusOr status(users);
  if (!accepted) {
    if (!announcements_possible()) return take(call.buffer, call.count, call.type, users);
    const int rc = take(call.buffer, call.count, call.type, status.get());
    if (rc != MPI_SUCCESS || call.source == MPI_PROC_NULL) return rc;
    return settle_in_place(call.buffer, call.count, call.type, *status.get(), call.comm);
  }
  const Accelerated counted(call.hook, accepted.bytes());
  const Shown shown(parcel);
  const int rc = take(shown.data(), shown.count(), shown.type(), status.get());
  return rc == MPI_SUCCESS ? settle_staged(parcel, accepted.buffer, *status.get(), call.comm) : rc;
}

int begin_receive(const ReceiveCall& call, bool persistent, MPI_Request* request, Begin begin) {
  progress_orphans();
  answer_letters();
  auto accepted = accept_receive(call);
  auto parcel = stage(call, accepted);
  if (accepted.error != MPI_SUCCESS) return raise(call.comm, accepted.error);
  if (!accepted) {
    auto watched = watch_receive(call.buffer, call.count, call.type, call.source, call.comm);
    if (watched) watched->persistent = persistent;
    return watch(begin(call.buffer, call.count, call.type), request, std::move(watched));
  }
  const Accelerated counted(call.hook, accepted.bytes());
  const int sender = sender_to_ask(accepted.bytes(), call.source, call.comm);
  auto operation =
      std::make_unique<StagedReceive>(accepted.buffer, std::move(parcel), sender, errors_of_comm(call.comm));
  operation->persistent = persistent;
  const Shown shown(operation->parcel());
  const int rc = begin(shown.data(), shown.count(), shown.type());
  if (rc == MPI_SUCCESS) attach(*request, std::move(operation));
  return rc;
}

ReceiveInside::ReceiveInside(const ReceiveCall& call)
    : call_(call), accepted_(accept_receive(call)), parcel_(stage(call, accepted_)) {}

int ReceiveInside::settle(MPI_Status& status) const {
  if (call_.source == MPI_PROC_NULL) return MPI_SUCCESS;
  if (parcel_) return settle_staged(parcel_, accepted_.buffer, status, call_.comm);
  return announcements_possible() ? settle_in_place(call_.buffer, call_.count, call_.type, status, call_.comm)
                                  : MPI_SUCCESS;
}

std::unique_ptr<Request> watch_receive(void* user, std::int64_t count, MPI_Datatype type, int source,
                                       MPI_Comm comm) try {
  if (!announcements_possible() || source == MPI_PROC_NULL || count <= 0 || type == MPI_DATATYPE_NULL) return nullptr;
  const auto* known = known_type(type);
  MPI_Count size = known ? known->bytes() : 0;
  if (size == 0 && process->own.Type_size_x(type, &size) != MPI_SUCCESS) return nullptr;
  std::int64_t bytes = 0;
  if (!__builtin_mul_overflow(count, static_cast<std::int64_t>(size), &bytes) && !tickets_concern(bytes))
    return nullptr;
  return std::make_unique<InPlaceReceive>(buffer_of(user, count, type), errors_of_comm(comm));
} catch (const std::exception&) {
  return nullptr;  // without memory nothing can be done if an announcement comes
}

int watch(int rc, MPI_Request* request, std::unique_ptr<Request> watched) {
  if (rc == MPI_SUCCESS && watched)
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
