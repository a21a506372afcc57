#include "calls/tickets.hpp"

#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>

#include "calls/communicators.hpp"
#include "calls/ibcast.hpp"
#include "calls/orphans.hpp"
#include "transport/shm/job.hpp"

namespace dunnage::calls {

using plan::Operation;
using plan::Reason;
using transport::Ticket;

namespace {

/// Whether all ranks have Dunnage, as far as anything depends on it.
bool everyone_is_here(const transport::Member& self) {
  const bool asked = context->settings.bcast == base::Bcast::automatic || context->settings.streams != base::Streams::off;
  MPI_Comm parent = MPI_COMM_NULL;
  // Spawned processes have no roster of their own.
  return asked && !context->settings.roster.empty() && context->own.Comm_get_parent(&parent) == MPI_SUCCESS && parent == MPI_COMM_NULL &&
         transport::everyone_is_here(context->settings.roster, self);
}

void join_host(const transport::Member& self) {
  const auto job = transport::shm::job();
  if (context->settings.tickets == base::Tickets::off || !job) return;
  learn_predefined_sizes();
  context->several_hosts = !transport::shm::alone_on_host(self.ranks);
#ifdef DUNNAGE_CUDA
  const bool brief = device::driver() != nullptr;
#else
  constexpr bool brief = false;
#endif
  context->world = transport::shm::World::join({*job, self.rank, self.ranks}, context->settings.ticket_memory, context->settings.staging_pool, brief);
  if (!context->world) return;
  context->tickets_from = brief ? transport::token_size : transport::host_lengths.least;
  join_streams();
}

}  // namespace

void join_world() {
  static std::once_flag once;
  std::call_once(once, [] {
    int rank = 0, ranks = 0;
    if (context->own.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || context->own.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks < 2) return;
    context->rank = rank;
    if (context->settings.force == base::Force::never) {
      if (Broadcast::possible()) share_memory(ranks);  // the others do
      return;
    }
    // Who means something else by a broadcast is not one of those who are waited for.
    const auto world = transport::shm::world_key(), how = static_cast<std::uint64_t>(context->settings.bcast);
    const transport::Member self{world == 0 ? 0 : world + how, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks)};
    context->everyone = everyone_is_here(self);
    join_host(self);
    if (Broadcast::possible()) share_memory(ranks);
  });
}

void join_streams() {
  const bool always = context->settings.streams == base::Streams::always;
  const bool useful = context->several_hosts && context->model.least_stream != std::numeric_limits<std::int64_t>::max();
  if (context->everyone && context->settings.streams != base::Streams::off && (always || useful)) context->streams = Streams::join(context->settings.ticket_memory);
}

namespace {

/// Whether messages to a rank of MPI_COMM_WORLD go in pieces over the MPI, if by ticket.
bool far(std::uint32_t rank) {
  return context->streams && (context->settings.streams == base::Streams::always || !context->world->near(rank));
}

void avoid_length(std::uint32_t receiver, std::int64_t bytes) {
  context->world->avoid(receiver, bytes);
  if (far(receiver)) context->streams->avoid(receiver, bytes);
}

}  // namespace

void let_mpi_progress() {
  // Not of MPI_COMM_SELF: what is sent there MPICH finds without looking at anything else.
  // And a probe that finds something moves nothing else.
  constexpr int unused_tag = 32012;
  int there = 0;
  MPI_Status status;
  context->own.Iprobe(context->rank, unused_tag, MPI_COMM_WORLD, &there, &status);
}

void leave_world() {
  if (!context->world) return;
  if (context->streams) context->streams->leave([] { return no_streams_left(); });
  context->world->leave(let_mpi_progress);  // it may have to move what comes before, or the ticket itself
  forget_communicators();
}

void forget_world() {
  context->initialized = false;
  context->tickets_from = std::numeric_limits<std::int64_t>::max();
  context->world.reset();
}

void weigh_tokens() {
  using namespace std::chrono;
  static std::atomic<std::uint64_t> seen{0};
  static const auto begin = steady_clock::now();
  // What looking at a receive costs, and what a token saves; both are rough figures of one machine each.
  constexpr nanoseconds cost{40}, gain{4000}, grace = milliseconds(10);
  constexpr std::uint64_t rarely = 256;
  const auto n = seen.fetch_add(1, std::memory_order_relaxed);
  if (n % rarely != 0) return;
  const auto allowed = grace + (steady_clock::now() - begin) / 100 + gain * context->tokens.load(std::memory_order_relaxed);
  if (cost * n < allowed) return;
  // Until the last one has come all receives are looked at.
  if (!context->world->refuse_tokens()) context->tickets_from = transport::gpu_lengths.least;
}

void answer_letters() {
  if (context->world) context->world->answer();
}

TicketedSend& TicketedSend::operator=(TicketedSend&& other) noexcept {
  std::swap(outgoing_, other.outgoing_);
  std::swap(program_, other.program_);
  std::swap(gpu_, other.gpu_);
  std::swap(gpu_offer_, other.gpu_offer_);
  std::swap(message_, other.message_);
  return *this;
}

TicketedSend::~TicketedSend() {
  if (outgoing_) outgoing_.cancel();
}

transport::shm::Outgoing TicketedSend::pack(const void* buffer, MPI_Request request) {
#ifdef DUNNAGE_CUDA
  if (gpu_.content) {
    error_ = gpu_.direct() ? gpu_ready(outgoing_, gpu_.content, gpu_offer_) : gpu_pack_shared(outgoing_, gpu_.content, request);
    return std::exchange(outgoing_, {});
  }
#endif
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
  if (const auto there = world_rank(comm, dest); there >= 0) avoid_length(static_cast<std::uint32_t>(there), bytes);
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
  // Contiguous data too, where the receiver has told us that it scatters such messages.
  const auto there = world_rank(comm, dest);
  if (there < 0) return std::nullopt;
  const auto receiver = static_cast<std::uint32_t>(there);
#ifdef DUNNAGE_CUDA
  if (auto route = gpu_route(buffer, count, type, known, receiver); route.content) return TicketRoute{receiver, false, nullptr, std::move(route)};
#endif
  const bool contiguous = known->reason() == Reason::contiguous && (context->settings.tickets == base::Tickets::always || world->scatters(receiver));
  const bool possible = (known->reason() == Reason::accelerated || contiguous) && bytes >= transport::host_lengths.least_size() && (buffer || known->layout().true_lb != 0) &&
                        !on_device(static_cast<const char*>(buffer) + known->layout().data.offset) &&
                        (!known->mixed() || context->model.trusted_mixed) && static_cast<std::uint64_t>(bytes) <= context->settings.ticket_memory;
  if (!possible && !transport::ticket_length(bytes)) return std::nullopt;
  if (transport::ticket_length(bytes)) {
    avoid_length(receiver, bytes);
    return std::nullopt;
  }
  try {
    const bool away = far(receiver);
    const auto by = [&](const Variant& v) { return (away ? v.stream : v.ticket) ? std::optional(TicketRoute{receiver, away, v.program, {}}) : std::nullopt; };
    const auto* variant = known->find(count);
    return variant ? by(*variant) : by(known->plan(count));
  } catch (const type::SpecError&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

namespace {

/// A ticket with its data; empty where there is no memory.
template <class Way>
Message ticket_message(const Way& way, const std::shared_ptr<const pack::Program>& program, const void* buffer) {
  auto message = stage_bytes(Operation::send, way.length());
  if (!message) return message;
  message.parcel.gather(engine::Content(program, buffer), way.carried());
  const Ticket ticket = way.ticket();
  message.parcel.write(&ticket, way.carried(), message.parcel.size);
  return message;
}

}  // namespace

#ifdef DUNNAGE_CUDA
namespace {

/// The ticket of data in a GPU's memory; empty where there is no memory.
Message gpu_message(const transport::shm::Outgoing& outgoing, const GpuOffer& offer) {
  auto message = stage_bytes(Operation::send, outgoing.length());
  if (!message) return message;
  std::vector<char> bytes(static_cast<std::size_t>(outgoing.length()));
  if (const auto token = outgoing.token()) {
    std::memcpy(bytes.data(), &token, sizeof token);
  } else {
    std::copy(offer.head.begin(), offer.head.end(), bytes.begin());
    const Ticket ticket = outgoing.ticket();
    std::memcpy(bytes.data() + bytes.size() - sizeof ticket, &ticket, sizeof ticket);
  }
  message.parcel.write(bytes.data(), 0, outgoing.length());
  return message;
}

}  // namespace
#endif

TicketedSend ticketed_send(Hook hook, const TicketRoute& route, const void* buffer, int tag) {
  TicketedSend made;
  auto* world = context->world.get();
#ifdef DUNNAGE_CUDA
  if (route.gpu.content) {
    if (!world || !world->reaches(route.receiver)) return made;
    if (route.gpu.direct() && (made.gpu_offer_ = gpu_offer(route.gpu.content, route.receiver)).head.empty()) return {};
    const auto size = route.gpu.content.size();
    const bool token = route.gpu.direct() && size < world->gpu_ticket(route.receiver).least_size();
    if (token) world->avoid(route.receiver, size);
    const auto& named = made.gpu_offer_.named;
    const auto offered = token ? world->offer_token(route.receiver, size, tag, made.gpu_offer_.head, named) : world->offer(route.receiver, size, tag, true, named);
    if (!offered) return {};
    made.outgoing_ = *offered;
    if (!route.gpu.direct()) {
      offered->pack_always();
      if (!world->make_room(*offered)) return {};
    }
    made.gpu_ = route.gpu;
    made.message_ = gpu_message(*offered, made.gpu_offer_);
    if (made.message_) {
      context->count(hook, made.gpu_offer_.memory ? plan::GpuWay::direct_packed : route.gpu.way);
      return made;
    }
    context->count(hook, Reason::no_memory);
    return {};
  }
#endif
  const auto outgoing = world && world->reaches(route.receiver) ? world->offer(route.receiver, route.program->size(), tag) : std::nullopt;
  if (!outgoing) return made;
  made.outgoing_ = *outgoing;
  made.program_ = route.program;
  made.message_ = ticket_message(*outgoing, route.program, buffer);
  if (made.message_) return made;
  context->count(hook, Reason::no_memory);
  return {};
}

std::optional<int> send_in_pieces(Hook hook, const TicketRoute& route, const void* buffer, int dest, int tag, MPI_Comm comm) {
  const auto stream = context->streams->offer(route.receiver, route.program->size(), tag);
  if (!stream) return std::nullopt;
  const auto message = ticket_message(*stream, route.program, buffer);
  if (!message) {
    context->count(hook, Reason::no_memory);
    return std::nullopt;
  }
  const Accelerated counted(hook, route.program->size(), true);
  stream->announce();
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = context->own.Issend(message.data(), message.count<int>(), message.type.handle(), dest, tag, comm, &request);
  if (rc == MPI_SUCCESS) rc = stream->send(*route.program, buffer, request);
  finish_stream(stream);
  return rc;
}

std::optional<int> redeem(Landing& landing, std::int64_t& bytes, MPI_Status& status) {
  if (!context->world || bytes > landing.capacity()) return std::nullopt;
#ifdef DUNNAGE_CUDA
  if (transport::token_length(bytes) && context->world->expects_token()) {
    std::uint64_t token = 0;
    if (const int rc = guarded([&] { landing.read(&token, 0, transport::token_size); }); rc != MPI_SUCCESS) return rc;
    if (const auto incoming = context->world->recognise(token, bytes)) {
      context->tokens.fetch_add(1, std::memory_order_relaxed);
      return gpu_fetch(*incoming, bytes, landing);
    }
  }
#endif
  if (!transport::ticket_length(bytes) || (!context->streams && !context->world->expects(bytes))) return std::nullopt;
  const auto at = bytes - static_cast<std::int64_t>(sizeof(Ticket));
  Ticket ticket;
  if (const int rc = guarded([&] { landing.read(&ticket, at, bytes); }); rc != MPI_SUCCESS) return rc;  // the device's
  const auto incoming = context->world->recognise(ticket, bytes);
  const bool in_pieces = !incoming && context->streams && context->streams->recognise(ticket, bytes);
  if (!incoming && !in_pieces) return std::nullopt;
  bytes = ticket.size;
  if (bytes > landing.capacity()) {
    if (in_pieces)
      context->streams->fetch(ticket, nullptr);
    else
      incoming->discard();
    bytes = landing.capacity();
    context->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
    return MPI_ERR_TRUNCATE;
  }
#ifdef DUNNAGE_CUDA
  if (incoming && ticket.way == Ticket::gpu) {
    const int result = gpu_fetch(*incoming, ticket.size, landing);
    context->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
    return result;
  }
#endif
  if (landing.contiguous() && incoming) context->world->tell_scatters(ticket.sender, false);
  bool all = false;
  int rc = MPI_SUCCESS;
  try {
    landing.settle(at);
    all = in_pieces ? context->streams->fetch(ticket, &landing)
                    : incoming->fetch([&](const char* from, std::int64_t begin, std::int64_t end) { landing.place(from, begin, end); });
    landing.finish();
  } catch (const std::exception&) {  // the device's
    rc = code_of_current_exception();
    if (incoming) incoming->discard();
  }
  context->own.Status_set_elements_x(&status, MPI_BYTE, bytes);
  return rc == MPI_SUCCESS && !all ? MPI_ERR_OTHER : rc;  // the sender died, the MPI failed, or there is no memory
}

void tell_scatters(std::int64_t bytes, int sender) {
  if (context->world && bytes >= context->model.least_ticket && sender >= 0) context->world->tell_scatters(static_cast<std::uint32_t>(sender), true);
}
int asked_for_tickets(std::int64_t bytes, int source, MPI_Comm comm) {
  return context->world && bytes >= context->model.least_ticket && source >= 0 ? world_rank(comm, source) : -1;
}

void correct_probe(MPI_Comm comm, MPI_Status* status) {
  if (!context->world || status == MPI_STATUS_IGNORE) return;
  const auto bytes = probed_bytes(*status);
  if (!transport::ticket_length(bytes)) return;
  const auto sender = world_rank(comm, status->MPI_SOURCE);
  if (sender < 0) return;
  const auto rank = static_cast<std::uint32_t>(sender);
  auto size = context->world->size_of(rank, bytes, status->MPI_TAG);
  // What the sender takes for far may be near for us, so what it has told is looked at in any case.
  if (size == bytes && context->streams) size = context->streams->size_of(rank, bytes, status->MPI_TAG, far(rank));
  if (size != bytes) context->own.Status_set_elements_x(status, MPI_BYTE, size);
}

}  // namespace dunnage::calls
