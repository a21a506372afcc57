#include "mpi/ways/announcement.hpp"

#include <algorithm>

#include "mpi/message/accept.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/status.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {

using memory::Landing;
using transport::Arrival;
using transport::Ticket;

namespace {

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

}  // namespace

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

void give_back_truncated(int error, std::int64_t length, int sender, int tag) {
  if (error != MPI_ERR_TRUNCATE || sender < 0 || !announcements_possible()) return;
  look_at_short_receives();
  if (!process->behaviour.tells_truncated_length || !transport::ticket_length(length)) return;
  for (auto* way : ways()) way->truncated(static_cast<std::uint32_t>(sender), length, tag);
}

int ended_by_mpi(int rc, const MPI_Status& status, MPI_Comm comm) {
  if (rc != MPI_SUCCESS && process->behaviour.tells_truncated_length)
    give_back_truncated(rc, told_bytes(status), world_rank(comm, status.MPI_SOURCE), status.MPI_TAG);
  return rc;
}

void tell_scatters(std::int64_t bytes, int sender) {
  if (bytes < process->model.least_ticket || sender < 0) return;
  if (sender == process->rank)
    process->scatters_to_self = true;
  else if (process->world)
    process->world->peers.tell_scatters(static_cast<std::uint32_t>(sender), true);
}

int sender_to_ask(std::int64_t bytes, int source, MPI_Comm comm) {
  return announcements_possible() && bytes >= process->model.least_ticket && source >= 0 ? world_rank(comm, source)
                                                                                         : -1;
}

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
