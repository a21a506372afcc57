// Large non-contiguous messages between ranks of one host, by ticket (transport/ticket.hpp): the MPI matches the ticket in the
// message's place, and its data travels through shared memory.
#pragma once

#include <limits>
#include <optional>

#include "calls/accept.hpp"
#include "calls/error.hpp"
#include "calls/gpu_tickets.hpp"
#include "calls/landing.hpp"
#include "transport/roster.hpp"
#include "transport/shm/world.hpp"

namespace dunnage::calls {

/// After MPI_Init: from now on this process can be sent tickets. Does nothing where that cannot be.
void join_world();
/// Before MPI_Finalize: waits until others have what was sent to them.
void leave_world();
/// After it: until then callbacks of the program's may still receive.
void forget_world();

/// Lets the MPI move what is under way.
void let_mpi_progress();

void weigh_tokens();
/// Whether a receive with room for so many bytes may meet a ticket, or a send of as many may have the length of one.
inline bool tickets_concern(std::int64_t bytes) { return bytes >= context->tickets_from.load(std::memory_order_relaxed); }
/// Whether a message that has come may be a ticket, or begin with a token.
inline bool may_be_ticket(std::int64_t bytes) {
  return transport::ticket_length(bytes) || (transport::token_length(bytes) && context->world && context->world->expects_token());
}
/// A message of the program's is in host memory. Every receive is looked at for tokens; where that costs more than a hundredth of the time, and than tokens
/// have brought, this process takes none any more.
inline void see_host_message() {
  if (context->tickets_from.load(std::memory_order_relaxed) <= transport::token_size) weigh_tokens();
}
/// Lets in who has asked. Called by everything that receives something large.
void answer_letters();

/// Where a message goes by ticket, and what of it.
struct TicketRoute {
  std::uint32_t receiver;  // rank of MPI_COMM_WORLD
  bool far;                // on another host
  std::shared_ptr<const pack::Program> program;
  GpuRoute gpu;  // in place of the program: data in a GPU's memory
};

/// A message that is about to travel by ticket. Movable; cancels the operation unless pack() was called.
class TicketedSend {
 public:
  explicit operator bool() const { return static_cast<bool>(outgoing_); }
  const Message& message() const { return message_; }
  std::int64_t bytes() const { return outgoing_.size(); }
  /// Packs the rest of the data into shared memory. `request`: the ticket's, which travels in the meantime; null where it will be
  /// sent later. After this the operation is the receiver's: without a receiver it must be cancelled.
  transport::shm::Outgoing pack(const void* buffer, MPI_Request request);
  /// The data in a GPU's memory, for gpu_finish(); empty of others, and where they have been packed.
  engine::Content gpu() const { return gpu_.direct() && error_ == MPI_SUCCESS ? gpu_.content : engine::Content(); }
  /// An error code of the MPI: the receiver will not have the data.
  int error() const { return error_; }
  /// What must live until the receiver has the data.
  std::shared_ptr<const void> take_memory() { return std::move(gpu_offer_.memory); }
  /// The ticket's memory, which must live until its request has completed.
  engine::Parcel take_parcel() { return std::move(message_.parcel); }

  TicketedSend() = default;
  TicketedSend(TicketedSend&& other) noexcept { *this = std::move(other); }
  TicketedSend& operator=(TicketedSend&& other) noexcept;
  ~TicketedSend();

 private:
  friend TicketedSend ticketed_send(Hook, const TicketRoute&, const void*, int);
  transport::shm::Outgoing outgoing_;
  std::shared_ptr<const pack::Program> program_;
  GpuRoute gpu_;
  GpuOffer gpu_offer_;
  int error_ = MPI_SUCCESS;
  Message message_;
};

/// A message is about to go the MPI's way whatever it is: if it has a ticket's length, no ticket to that rank will.
void avoid_length(std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm);
/// Whether such messages are to go by ticket where they can.
std::optional<TicketRoute> ticket_route(const void* buffer, std::int64_t count, MPI_Datatype type, int dest, MPI_Comm comm);
/// The ticket for a message on this host, its own bytes packed; empty where the message must go the MPI's way.
TicketedSend ticketed_send(Hook hook, const TicketRoute& route, const void* buffer, int tag);
inline TicketedSend ticketed_send(Hook hook, const void* buffer, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const auto route = ticket_route(buffer, count, type, dest, comm);
  return route && !route->far ? ticketed_send(hook, *route, buffer, tag) : TicketedSend();
}
/// A blocking send to another host, by ticket and pieces. Nothing where the message must go the MPI's way.
std::optional<int> send_in_pieces(Hook hook, const TicketRoute& route, const void* buffer, int dest, int tag, MPI_Comm comm);

/// What is kept beside the request of a send by ticket.
struct TicketOperation {
  transport::shm::Outgoing outgoing;
  engine::Parcel parcel;
  engine::Content gpu;  // of data that the receiver reads in a GPU's memory
  int error = MPI_SUCCESS;
  std::shared_ptr<const void> memory;
  // Of a persistent send, each start of which is a nonblocking one of its own, behind the user's request.
  TicketRoute route{};
  MPI_Comm comm = MPI_COMM_NULL;
  int dest = 0, tag = 0;
  decltype(OwnTable::Isend) begin = nullptr;
  Hook hook{};
};

/// After a receive that brought `bytes`, as its status says: fetches what a ticket stands for and corrects the status. Returns
/// what the receive is to return, and the true bytes in `bytes`; nothing where the message is no ticket.
std::optional<int> redeem(Landing& landing, std::int64_t& bytes, MPI_Status& status);

/// After a message of so many bytes that came the MPI's way and is unpacked: asks its sender, a rank of MPI_COMM_WORLD, for tickets.
void tell_scatters(std::int64_t bytes, int sender);
/// Which rank of MPI_COMM_WORLD that is for a receive that is being posted; -1 where none is to be asked.
int asked_for_tickets(std::int64_t bytes, int source, MPI_Comm comm);

/// After a probe that found a message: the true size in its status.
void correct_probe(MPI_Comm comm, MPI_Status* status);

/// After MPI_Init, when the world has been joined, where ranks may be on several hosts: finds out whether all have Dunnage.
void join_streams();

template <class... Arguments>
int init(Hook, int (*next)(Arguments...), Arguments... arguments) {
  const int rc = next(arguments...);
  if (rc == MPI_SUCCESS) {
    context->initialized = true;
    join_world();
  }
  return rc;
}

}  // namespace dunnage::calls
