#include "calls/tickets.hpp"

#include <mutex>
#include <utility>

#include "calls/communicators.hpp"
#include "transport/shm/job.hpp"

namespace dunnage::calls {

using plan::Operation;
using plan::Reason;
using transport::Ticket;

void join_world() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (context->settings.tickets == base::Tickets::off || context->settings.force == base::Force::never) return;
    int rank = 0, ranks = 0;
    if (context->own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || context->own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks < 2) return;
    const auto job = transport::shm::job();
    if (!job) return;
    learn_predefined_sizes();
    context->several_hosts = !transport::shm::alone_on_host(static_cast<std::uint32_t>(ranks));
    context->world = transport::shm::World::join({*job, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks)},
                                                 context->settings.ticket_memory, context->settings.staging_pool);
    if (context->world) context->tickets_from = transport::least_length;
  });
}

void leave_world() {
  if (!context->world) return;
  context->world->leave([] {  // the MPI may have to move what comes before, or the ticket itself
    int there = 0;
    MPI_Status status;
    context->own.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &there, &status);
  });
  forget_communicators();
}

void forget_world() {
  context->tickets_from = std::numeric_limits<std::int64_t>::max();
  context->world.reset();
}

void answer_letters() {
  if (context->world) context->world->answer();
}

TicketedSend& TicketedSend::operator=(TicketedSend&& other) noexcept {
  std::swap(outgoing_, other.outgoing_);
  std::swap(program_, other.program_);
  std::swap(message_, other.message_);
  return *this;
}

TicketedSend::~TicketedSend() {
  if (outgoing_) outgoing_.cancel();
}

transport::shm::Outgoing TicketedSend::pack(const void* buffer, MPI_Request request) {
  bool travels = request != MPI_REQUEST_NULL;
  outgoing_.run(
      travels, [&](char* to, std::int64_t begin, std::int64_t end) { program_->pack(buffer, to, begin, end, pack::Stores::cached); },
      [&] {  // an MPI may want the sender's help to move even the ticket
        int done = 0;
        MPI_Status status;
        if (travels && (context->own.Request_get_status(request, &done, &status) != MPI_SUCCESS || done)) travels = false;
      });
  return std::exchange(outgoing_, {});
}

void avoid_length(std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm) {
  if (!context->world || dest < 0 || count <= 0 || type == MPI_DATATYPE_NULL) return;
  const auto* known = known_type(type);
  MPI_Count size = known ? known->bytes() : 0;
  std::int64_t bytes = 0;
  if ((size == 0 && context->own.Type_size_x(type, &size) != MPI_SUCCESS) || __builtin_mul_overflow(count, static_cast<std::int64_t>(size), &bytes)) return;
  if (!transport::ticket_length(bytes)) return;
  if (const auto there = world_rank(comm, dest); there >= 0) context->world->avoid(static_cast<std::uint32_t>(there), bytes);
}

std::optional<TicketRoute> ticket_route(const void* buffer, std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm) {
  auto* world = context->world.get();
  if (!world || dest < 0 || count <= 0) return std::nullopt;
  const auto* known = known_type(type);
  std::int64_t bytes = 0;
  if (!known || known->bytes() == 0) {
    avoid_length(count, type, dest, comm);
    return std::nullopt;
  }
  if (__builtin_mul_overflow(count, known->bytes(), &bytes) || !tickets_concern(bytes)) return std::nullopt;
  world->answer();
  const bool possible = known->reason() == Reason::accelerated && bytes >= transport::least_size && (buffer || known->layout().true_lb != 0) &&
                        !on_device(static_cast<const char*>(buffer) + known->layout().data.offset) &&
                        (!known->mixed() || context->model.trusted_mixed) && static_cast<std::uint64_t>(bytes) <= context->settings.ticket_memory;
  if (!possible && !transport::ticket_length(bytes)) return std::nullopt;
  const auto there = world_rank(comm, dest);
  if (there < 0) return std::nullopt;
  const auto receiver = static_cast<std::uint32_t>(there);
  if (transport::ticket_length(bytes)) {
    world->avoid(receiver, bytes);
    return std::nullopt;
  }
  try {
    const auto* variant = known->find(count);
    if (variant) return variant->ticket ? std::optional(TicketRoute{receiver, variant->program}) : std::nullopt;
    const auto made = known->plan(count);
    return made.ticket ? std::optional(TicketRoute{receiver, made.program}) : std::nullopt;
  } catch (const type::SpecError&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

TicketedSend ticketed_send(Hook hook, const TicketRoute& route, const void* buffer, int tag) {
  TicketedSend made;
  auto* world = context->world.get();
  if (!world || !world->reaches(route.receiver)) return made;
  const auto outgoing = world->offer(route.receiver, route.program->size(), tag);
  if (!outgoing) return made;
  made.outgoing_ = *outgoing;
  made.program_ = route.program;
  made.message_ = stage_bytes(Operation::send, outgoing->length());
  if (!made.message_) {
    context->count(hook, Reason::no_memory);
    return {};
  }
  const auto& parcel = made.message_.parcel;
  parcel.gather(*made.program_, buffer, outgoing->carried());
  const Ticket ticket = outgoing->ticket();
  parcel.write(&ticket, outgoing->carried(), parcel.size);
  return made;
}

std::optional<int> redeem(Landing& landing, std::int64_t& bytes, MPI_Status& status) {
  if (!context->world || !transport::ticket_length(bytes) || bytes > landing.capacity() || !context->world->expects(bytes)) return std::nullopt;
  const auto at = bytes - static_cast<std::int64_t>(sizeof(Ticket));
  Ticket ticket;
  landing.read(&ticket, at, bytes);
  const auto incoming = context->world->recognise(ticket, bytes);
  if (!incoming) return std::nullopt;
  bytes = incoming->size();
  if (bytes > landing.capacity()) {
    incoming->discard();
    bytes = landing.capacity();
    context->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
    return MPI_ERR_TRUNCATE;
  }
  landing.settle(at);
  const bool all = incoming->fetch([&](const char* from, std::int64_t begin, std::int64_t end) { landing.place(from, begin, end); });
  landing.finish();
  context->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  return all ? MPI_SUCCESS : MPI_ERR_OTHER;  // the sender died
}

void correct_probe(MPI_Comm comm, MPI_Status* status) {
  if (!context->world || status == MPI_STATUS_IGNORE) return;
  const auto bytes = probed_bytes(*status);
  if (!transport::ticket_length(bytes)) return;
  const auto sender = world_rank(comm, status->MPI_SOURCE);
  if (sender < 0) return;
  const auto size = context->world->size_of(static_cast<std::uint32_t>(sender), bytes, status->MPI_TAG);
  if (size != bytes) context->own.Status_set_elements_x(status, MPI_BYTE, size);
}

}  // namespace dunnage::calls
