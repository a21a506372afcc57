#include "mpi/ways/outbound.hpp"

#include <algorithm>

#include "mpi/message/accept.hpp"
#include "mpi/message/buffer.hpp"
#include "mpi/message/gpu_shared.hpp"
#include "mpi/process/arrivals.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/process/types.hpp"
#include "mpi/ways/by_channel.hpp"
#include "mpi/ways/registry.hpp"

namespace dunnage::mpi {

using plan::Reason;
using transport::Outbound;
using transport::Sending;

namespace {

/// An ordinary message of so many bytes goes to that rank of MPI_COMM_WORLD.
void avoid(std::uint32_t receiver, std::int64_t bytes) {
  if (!transport::ticket_length(bytes)) return;
  for (auto* way : ways()) way->avoid(receiver, bytes);
}

std::unique_ptr<Sending> begin_way(const Outbound& message) try {
  for (auto* way : ways())
    if (way->takes(message)) return way->begin(message);
  return nullptr;
} catch (const std::exception&) {
  return nullptr;
}

}  // namespace

Outbound from_device(const SendCall& call, std::uint32_t receiver, std::int64_t bytes, memory::Buffer buffer) {
  Outbound message{{}, receiver, call.tag, bytes};
  message.contiguous = contiguous_on_gpu(buffer);
  message.buffer = std::move(buffer);
  if (static_cast<int>(receiver) != process->rank) message.gpu_way = gpu_way_to(message.buffer, receiver);
  return message;
}

void ask_again(Outbound& message) {
  answer_letters();
  if (static_cast<int>(message.receiver) != process->rank)
    message.gpu_way = gpu_way_to(message.buffer, message.receiver);
}

std::optional<Outbound> outbound(const SendCall& call, const transport::ChannelStamp* stamp) try {
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
  const bool possible = may_go_packed(*known) && bytes >= transport::host_lengths.least_size() &&
                        (call.buffer || known->layout().true_lb != 0) &&
                        !on_device(static_cast<const char*>(call.buffer) + known->layout().data.offset) &&
                        !transport::ticket_length(bytes);
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

std::optional<Outbound> outbound(const SendCall& call, const MessageTurn& turn, const transport::ChannelStamp& stamp) {
  if (mode_of(call.hook) != Mode::buffered && !turn.is_librarys()) return outbound(call, &stamp);
  avoid_length(call.count, call.type, call.dest, call.comm);
  return std::nullopt;
}

bool taken(const Outbound& message) {
  return std::any_of(ways().begin(), ways().end(), [&](auto* way) { return way->takes(message); });
}

std::unique_ptr<Sending> announce(Hook hook, const Outbound& message) {
  auto sending = begin_way(message);
  if (!sending) {
    avoid(message.receiver, message.bytes);
    return nullptr;
  }
  if (const auto counted = sending->gpu_way(); counted != plan::GpuWay::none) process->count(hook, counted);
  return sending;
}

int start_send(const Sending& sending, const SendCall& call, bool blocking, MPI_Request* request) {
  const Shown shown(sending.parcel());
  const auto& own = process->own;
  const auto begin = sending.synchronous(blocking) || mode_of(call.hook) == Mode::synchronous ? own.Issend : own.Isend;
  return begin(shown.data(), static_cast<int>(shown.count()), shown.type(), call.dest, call.tag, call.comm, request);
}

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

bool mpi_ended(MPI_Request request) {
  int done = 0;
  MPI_Status status;
  return process->own.Request_get_status(request, &done, &status) != MPI_SUCCESS || done;
}

}  // namespace dunnage::mpi
